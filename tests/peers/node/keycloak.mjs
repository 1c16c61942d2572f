// Keycloak as an authorization server: starts it and configures it through its admin API.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

/** The first start compiles its configuration, which can take minutes on a busy machine. */
const startTimeoutMs = 400_000;
const realm = "mcp";
const admin = { username: "admin", password: "admin" };
/** So short that each client request renews its token. */
const tokenTtlSeconds = 20;
const policies = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy";

/** The issuer of a Keycloak at that origin. */
export function issuerOf(origin) {
  return `${origin}/realms/${realm}`;
}

/**
 * Starts Keycloak with `origin` as its public origin. Only the master realm has been requested.
 */
export async function startKeycloak(home, origin, port) {
  const options = ["start-dev", "--db=dev-mem", "--cache=local", "--http-host=127.0.0.1", `--http-port=${port}`, `--hostname=${origin}`];
  const env = { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: admin.username, KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password, JAVA_OPTS_APPEND: "-XX:TieredStopAtLevel=1" };
  const child = spawn("sh", [join(home, "bin", "kc.sh"), ...options], { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  const own = `http://127.0.0.1:${port}`;
  const close = async () => {
    if (child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  for (const begun = Date.now(); ; await setTimeout(200)) {
    if (child.exitCode !== null || Date.now() - begun > startTimeoutMs) {
      await close();
      throw new Error(`Keycloak did not start: ${said}`);
    }
    if ((await fetch(`${own}/realms/master`).catch(() => undefined))?.ok) break;
  }
  return { own, close };
}

/**
 * Sets up a realm in which clients register themselves, with these scopes, each of which adds
 * `resource` to the audience, and users by name, with or without offline access.
 */
export async function prepareRealm(own, { resource, scopes, users }) {
  const form = new URLSearchParams({ grant_type: "password", client_id: "admin-cli", ...admin });
  const answer = await fetch(`${own}/realms/master/protocol/openid-connect/token`, { method: "POST", body: form });
  const { access_token: token } = await answer.json();
  const ask = async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${own}/admin/realms${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? response.headers.get("location")?.split("/").at(-1) : JSON.parse(text);
  };
  await ask("POST", "", { realm, enabled: true, accessTokenLifespan: tokenTtlSeconds });
  for (const [name, isOffline] of Object.entries(users)) {
    const credentials = [{ type: "password", value: "any" }];
    const id = await ask("POST", `/${realm}/users`, { username: name, email: `${name}@example.com`, firstName: name, lastName: name, emailVerified: true, enabled: true, credentials });
    if (isOffline) continue;
    const path = `/${realm}/users/${id}/role-mappings/realm`;
    await ask("DELETE", path, await ask("GET", path));
  }
  for (const name of scopes) {
    const config = { "included.custom.audience": resource, "access.token.claim": "true" };
    const protocolMappers = [{ name: "resource", protocol: "openid-connect", protocolMapper: "oidc-audience-mapper", config }];
    const id = await ask("POST", `/${realm}/client-scopes`, { name, protocol: "openid-connect", attributes: { "include.in.token.scope": "true" }, protocolMappers });
    await ask("PUT", `/${realm}/default-optional-client-scopes/${id}`, {});
  }
  // Anonymous clients register themselves from this machine, with every scope.
  for (const policy of await ask("GET", `/${realm}/components?type=${policies}`)) {
    if (policy.subType !== "anonymous") continue;
    if (policy.providerId === "allowed-client-templates") await ask("DELETE", `/${realm}/components/${policy.id}`);
    if (policy.providerId !== "trusted-hosts") continue;
    policy.config["trusted-hosts"] = ["127.0.0.1", "localhost"];
    await ask("PUT", `/${realm}/components/${policy.id}`, policy);
  }
}
