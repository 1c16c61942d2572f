// A certified authorization server (oidc-provider) protects a server of ours; clients log in there.
//
// authorization.mjs COMMAND...   each is a fixture client, which gets the URL of the server
import { spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";

import { Provider } from "oidc-provider";
import { Server } from "trunkline";

const loggedIn = "ada";
const scope = "mcp";
/** Longest time of one client. */
const patienceMs = 30_000;

const server = new Server({ name: "guarded", version: "1.0.0" });
const calls = [];
server.registerTool("test-tool", {}, (_, { auth }) => {
  calls.push(auth);
  return "called";
});

const front = createServer((request, response) => void answer(request, response));
await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${front.address().port}`;

// The URL of a server is known when it listens, and the server needs its own URL as resource.
const port = await freePort();
const resource = `http://127.0.0.1:${port}/mcp`;
const auth = { resource, issuer, requiredScopes: [scope], scopes: [scope], dpop: "optional" };
const listener = await server.listen({ port, auth });

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const machine = { client_id: "machine", private_key_pem: privateKey.export({ type: "pkcs8", format: "pem" }), signing_algorithm: "ES256" };
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: machine.client_id,
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_signing_alg: "ES256",
      jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), use: "sig" }] },
      scope,
    },
  ],
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
  cookies: { keys: [randomBytes(16).toString("hex")] },
  jwks: { keys: [signingKey("rsa", { modulusLength: 2048 }, "RS256"), signingKey("ec", { namedCurve: "P-256" }, "ES256")] },
  scopes: ["openid", "offline_access", scope],
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  features: {
    clientCredentials: { enabled: true },
    dPoP: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope, audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } }),
    },
  },
});
provider.on("registration_create.error", (_, error) => console.error(error));
provider.on("server_error", (_, error) => console.error(error));
const served = provider.callback();

/** The page of the login is visited by a user who agrees: clients here only follow one redirect. */
async function answer(request, response) {
  const isBrowser = request.headers["user-agent"] === "browser";
  if (isBrowser || !request.url.startsWith("/auth?")) return served(request, response);
  try {
    response.writeHead(303, { location: await logIn(issuer + request.url) }).end();
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}

/** Follows the redirects and sends the forms of the login, as a browser does, up to the client's own redirect. */
async function logIn(first) {
  const cookies = new Map();
  let [url, body] = [first, undefined];
  for (let step = 0; step < 20; ++step) {
    const headers = { "user-agent": "browser", cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    const page = await fetch(url, { method: body ? "POST" : "GET", headers, body, redirect: "manual" });
    for (const cookie of page.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
      cookies.set(name, value);
    }
    const location = page.headers.get("location");
    const text = await page.text();
    if (location) {
      [url, body] = [new URL(location, url).href, undefined];
      if (!url.startsWith(issuer)) return url;
      continue;
    }
    const action = /<form[^>]*action="([^"]*)"/.exec(text)?.[1];
    const prompt = /name="prompt" value="([^"]*)"/.exec(text)?.[1];
    if (!action || !prompt) throw new Error(`no form at ${url}: ${page.status} ${text}`);
    url = new URL(action, url).href;
    body = new URLSearchParams({ prompt, ...(prompt === "login" && { login: loggedIn, password: "any" }) });
  }
  throw new Error("the login does not end");
}

function signingKey(kind, options, alg) {
  return { ...generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" }), alg, use: "sig", kid: alg };
}

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Runs a client; gives why it failed, and otherwise undefined. */
async function run(command, scenario, context, revision) {
  const env = {
    ...process.env,
    MCP_CONFORMANCE_SCENARIO: scenario,
    MCP_CONFORMANCE_CONTEXT: JSON.stringify(context),
    MCP_CONFORMANCE_PROTOCOL_VERSION: revision,
  };
  const child = spawn(command, [String(listener.url)], { env, stdio: ["ignore", "ignore", "pipe"], timeout: patienceMs });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const code = await new Promise((resolve) => {
    child.on("error", resolve);
    child.on("close", resolve);
  });
  return code === 0 ? undefined : `${said}${code}`;
}

let failed = 0;
for (const command of process.argv.slice(2)) {
  for (const [scenario, context, revision, isRight] of [
    // AUC-31: the server lets in who has a token for it, which takes discovery, registration and a login.
    ["auth/login", {}, "2025-11-25", ({ subject, claims }) => subject === loggedIn && !claims.cnf],
    ["auth/dpop", {}, "2026-07-28", ({ subject, claims }) => subject === loggedIn && claims.cnf.jkt],
    ["auth/client-credentials-jwt", machine, "2026-07-28", ({ subject, clientId }) => !subject || (subject === clientId && clientId === "machine")],
  ]) {
    calls.length = 0;
    let fault = await run(command, scenario, context, revision);
    if (!fault && !(calls.length === 1 && isRight(calls[0]))) fault = `called as ${JSON.stringify(calls)}`;
    if (fault) ++failed;
    console.log(`${fault ? "not ok" : "ok"} ${command} ${scenario}${fault ? `: ${fault}` : ""}`);
  }
}
await listener.close();
front.close();
front.closeAllConnections();
process.exitCode = failed === 0 ? 0 : 1;
