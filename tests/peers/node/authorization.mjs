// A certified authorization server (oidc-provider, or Keycloak from its folder) protects a server
// of ours; clients log in there.
//
// authorization.mjs [--keycloak FOLDER] [--browser CHROMIUM] CLIENT...
//   [--example PROGRAM ARGUMENT...]... [--host PROGRAM ARGUMENT...]...
// Fixture clients and examples whose user logs in with the browser get the URL of the server;
// hosts, which run in a terminal, get a configuration with it. The login pages are visited over
// HTTP or with a real browser.
import { spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { Provider } from "oidc-provider";
import { Client, Server } from "trunkline";

import { logInWithBrowser } from "./browser.mjs";
import { freePort } from "./free_port.mjs";
import { issuerOf, prepareRealm, startKeycloak } from "./keycloak.mjs";
import { visit } from "./visit.mjs";

const loggedIn = "ada";
const scope = "mcp";
const visitor = fileURLToPath(new URL("./browser.mjs", import.meta.url));
const { browser, keycloak, clients, examples, hosts } = programs(process.argv.slice(2));
/** Timeout of one client. */
const patienceMs = browser || keycloak ? 90_000 : 30_000;
if (browser) process.env.LOGIN_BROWSER = browser;

const server = new Server({ name: "guarded", version: "1.0.0" });
const calls = [];
let logins = 0;
let failed = 0;
server.registerTool("test-tool", {}, (_, { auth }) => {
  calls.push(auth);
  return "called";
});
server.registerTool("order", {}, async (_, ctx) => {
  const form = { type: "object", properties: { city: { type: "string", title: "City" }, days: { type: "integer", default: 3 } }, required: ["city"] };
  const { action, content } = await ctx.elicit("Where to?", form);
  return action === "accept" ? `${content.city} for ${content.days} days` : action;
});

server.registerTool("write", { scopes: ["write"] }, () => "written");

const front = createServer((request, response) => void answer(request, response));
await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${front.address().port}`;
const issuer = keycloak ? issuerOf(origin) : origin;

// The URL of a server is only known once it listens, and the server needs its own URL as its
// resource.
const port = await freePort();
const resource = `http://127.0.0.1:${port}/mcp`;
const auth = { resource, issuer, requiredScopes: [scope], scopes: [scope], dpop: "optional" };
const listener = await server.listen({ port, auth });

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const machine = { client_id: "machine", private_key_pem: privateKey.export({ type: "pkcs8", format: "pem" }), signing_algorithm: "ES256" };
const peer = keycloak && (await startKeycloak(keycloak, origin, await freePort()));
if (peer) await prepareRealm(peer.own, { resource, scopes: [scope, "write"], users: { [loggedIn]: true, bob: false } });
const provider = keycloak ? undefined : new Provider(issuer, {
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
for (const event of ["registration_create.error", "server_error"]) provider?.on(event, (_, error) => console.error(error));
const served = provider?.callback() ?? forward;

/** Forwards a request to Keycloak. */
function forward(request, response) {
  const { method, headers, url } = request;
  const passed = httpRequest(peer.own + url, { method, headers }, (answered) => {
    response.writeHead(answered.statusCode, answered.headers);
    answered.pipe(response);
  });
  passed.on("error", (error) => response.destroy(error));
  request.pipe(passed);
}

/** A user who agrees visits the login page: clients here only follow one redirect. */
async function answer(request, response) {
  const agent = request.headers["user-agent"];
  const isLogin = /^(\/realms\/mcp\/protocol\/openid-connect)?\/auth\?/.test(request.url);
  if (isLogin && agent !== "browser") ++logins;
  if (!isLogin || /^browser$|Chrome/.test(agent)) return served(request, response);
  try {
    const location = browser ? (await logInWithBrowser(origin + request.url, loggedIn, { unheard: true })).url : await visit(origin + request.url, loggedIn);
    response.writeHead(303, { location }).end();
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}

function signingKey(kind, options, alg) {
  return { ...generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" }), alg, use: "sig", kid: alg };
}

/** Runs a client. Returns why it failed, or undefined. */
async function play(command, scenario, context, revision) {
  const [code, said] = await run([command], {
    MCP_CONFORMANCE_SCENARIO: scenario,
    MCP_CONFORMANCE_CONTEXT: JSON.stringify(context),
    MCP_CONFORMANCE_PROTOCOL_VERSION: revision,
  });
  return code === 0 ? undefined : `${said}${code}`;
}

/**
 * Runs a program with the URL of the server, or another argument. Returns its exit code and output.
 * The user enters each line once the text before it has appeared.
 */
async function run([program, ...file], variables, argument = String(listener.url), dialogue = []) {
  const env = { ...process.env, ...variables };
  const child = spawn(program, [...file, argument], { env, stdio: ["pipe", "pipe", "pipe"], timeout: patienceMs });
  let [said, seen] = ["", 0];
  const writing = [...dialogue];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text) => {
      said += text;
      for (let at; writing.length && (at = said.indexOf(writing[0][0], seen)) >= 0; ) {
        const [waited, line] = writing.shift();
        seen = at + waited.length;
        child.stdin.write(line);
      }
    });
  }
  child.stdin.on("error", () => {});
  if (dialogue.length === 0) child.stdin.end();
  const code = await new Promise((resolve) => {
    child.on("error", resolve);
    child.on("close", resolve);
  });
  return [code, writing.length === 0 ? said : `${said}\n[never came: ${writing[0][0]}]`, writing.length === 0];
}

/**
 * Creates a home folder for the user of a program. The browser is a program that visits the page,
 * or a real one, which must end up on the program's page.
 */
async function withHome(use) {
  const home = mkdtempSync(join(tmpdir(), "trunkline-login-"));
  const notes = join(home, "pages");
  try {
    writeFileSync(notes, "");
    const visit = `require("node:child_process").spawnSync(process.execPath, [${JSON.stringify(visitor)}, process.argv[2]]);`;
    const opener = `#!${process.execPath}\n${browser ? visit : "fetch(process.argv[2]);"}\n`;
    for (const name of ["xdg-open", "open"]) writeFileSync(join(home, name), opener, { mode: 0o755 });
    // Without a display and a browser, a program would only print the URL.
    const folders = { BROWSER: "given", HOME: home, XDG_CONFIG_HOME: join(home, "config"), PATH: `${home}${delimiter}${process.env.PATH}` };
    const fault = await use(home, { ...folders, LOGIN_NOTES: notes, LOGIN_USER: loggedIn });
    // The browser is still running when the program has received its redirect.
    for (let waited = 0; browser && !fault && waited < patienceMs && readFileSync(notes, "utf8") === ""; waited += 50) await setTimeout(50);
    const pages = readFileSync(notes, "utf8");
    if (browser && !fault && !/^\/callback\/[\w-]+: You can close this page and return to the program\.\n$/.test(pages)) return `the browser ended at ${JSON.stringify(pages)}`;
    return fault;
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** Runs an example twice. The user logs in once, because the tokens are stored. */
async function tryExample(home, folders, command) {
  const before = logins;
  for (let time = 0; time < 2; ++time) {
    const [code, said] = await run(command, folders);
    if (code !== 0 || said.trim() !== "test-tool\norder") return `${said}${code}`;
  }
  return logins === before + 1 ? undefined : `${logins - before} logins`;
}

/** Runs a host in a terminal: it logs in, lists two servers, and a tool asks the user (ELI-22). */
async function tryHost(home, folders, command) {
  const weather = fileURLToPath(new URL("../../../examples/node/server.mjs", import.meta.url));
  const mcpServers = { guarded: { url: String(listener.url) }, weather: { command: process.execPath, args: [weather] } };
  const config = join(home, "mcp.json");
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const before = logins;
  const [code, said, complete] = await run(command, folders, config, [
    ["prompt NAME [JSON]", ""],
    ["> ", "guarded__order {}\n"],
    ["Where to?", ""],
    ["City", "Oslo\n"],
    ["[3]: ", "\n"],
    ["Send this", "yes\n"],
    ["Oslo for 3 days", ""],
    ["> ", 'weather__forecast {"city": "Rome", "days": 1}\n'],
    ["day 1: sunny", ""],
    ["> ", "nobody__nothing\n"],
    ["error: ", ""],
    ["> ", "\x04"],
  ]);
  if (code !== 0 || !complete) return `${said}${code}`;
  for (const name of ["guarded__order", "weather__forecast"]) if (!said.includes(name)) return `no ${name}: ${said}`;
  return logins === before + 1 ? undefined : `${logins - before} logins`;
}

/** The programs on the command line, by kind. */
function programs(given) {
  const words = [...given];
  const [keycloak, browser] = ["--keycloak", "--browser"].map((option) => (words[0] === option ? words.splice(0, 2)[1] : undefined));
  const found = { keycloak, browser, clients: [[]], examples: [], hosts: [] };
  let kind = "clients";
  for (const word of words) {
    const next = { "--example": "examples", "--host": "hosts" }[word];
    if (next) found[(kind = next)].push([]);
    else found[kind].at(-1).push(word);
  }
  return found;
}

function report(name, fault) {
  if (fault) ++failed;
  console.log(`${fault ? "not ok" : "ok"} ${name}${fault ? `: ${fault}` : ""}`);
}

/** Connects and logs in as this user. Returns the scopes that each login requested. */
async function connect(user, options) {
  const asked = [];
  const onOpenUrl = async ({ url }) => {
    asked.push(new URL(url).searchParams.get("scope"));
    await fetch(await visit(url, user));
  };
  return [await Client.connect(listener.url, { ...options, onOpenUrl }), asked];
}

/** Specifics of Keycloak: short-lived tokens, and scopes that not every user may have. */
async function tryKeycloak() {
  const kept = new Map();
  const store = { onLoadCredentials: ({ key }) => ({ value: kept.get(key) }), onSaveCredentials: ({ key, value }) => void kept.set(key, value), onRemoveCredentials: ({ key }) => void kept.delete(key) };
  const token = () => JSON.parse([...kept].find(([key]) => key.startsWith("tokens "))[1]).access_token;
  // AUC-46, AUC-47: a token that each request finds about to expire, and one login.
  const [client, asked] = await connect(loggedIn, store);
  const first = token();
  await client.callTool("test-tool");
  if (token() === first) return "the token was not renewed";
  // AUC-43, AUC-44: a step-up requests the union.
  if ((await client.callTool("write")).text !== "written") return "no step up";
  if (asked.join(", ") !== `${scope} offline_access, ${scope} offline_access write`) return `asked for ${asked.join(", ")}`;
  await client.close();
  const [again, more] = await connect(loggedIn, store);
  await again.callTool("write");
  await again.close();
  if (more.length > 0) return "a second login";
  // A user without the role.
  kept.clear();
  const [of, scopes] = await connect("bob", store);
  await of.callTool("test-tool");
  await of.close();
  return scopes.join(", ") === `${scope} offline_access, ${scope}` ? undefined : `asked for ${scopes.join(", ")}`;
}

if (keycloak) report("keycloak", await tryKeycloak().catch((error) => error.stack));
for (const command of clients.flat()) {
  for (const [scenario, context, revision, isRight] of [
    // AUC-31: the server admits clients with a token for it, which takes discovery, registration
    // and a login.
    ["auth/login", {}, "2025-11-25", ({ subject, claims }) => (keycloak ? subject : subject === loggedIn) && !claims.cnf],
    ["auth/dpop", {}, "2026-07-28", ({ subject, claims }) => subject === loggedIn && claims.cnf.jkt],
    ["auth/client-credentials-jwt", machine, "2026-07-28", ({ subject, clientId }) => !subject || (subject === clientId && clientId === "machine")],
  ].slice(0, keycloak ? 1 : undefined)) {
    calls.length = 0;
    let fault = await play(command, scenario, context, revision);
    if (!fault && !(calls.length === 1 && isRight(calls[0]))) fault = `called as ${JSON.stringify(calls)}`;
    report(`${command} ${scenario}`, fault);
  }
}
for (const command of examples) report(command.at(-1), await withHome((...home) => tryExample(...home, command)));
for (const command of hosts) report(command.at(-1), await withHome((...home) => tryHost(...home, command)));
await listener.close();
await peer?.close();
front.close();
front.closeAllConnections();
process.exitCode = failed === 0 ? 0 : 1;
