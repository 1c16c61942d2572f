// Authorization over HTTP, and the other options of listeners.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client, ClientGroup, Server, TokenError } from "trunkline";
import { freePort } from "../test-support/free-port.mjs";
import { sharedStores, withRedis } from "../test-support/redis.mjs";

const resource = "http://127.0.0.1:8000/mcp";

function guarded() {
  const server = new Server({ name: "guarded", version: "1.0.0" });
  server.registerTool("whoami", {}, (_, ctx) => ctx.auth);
  const seen = [];
  const verifier = async (token) => {
    seen.push(token);
    if (token.token === "alice") return { subject: "alice", scopes: ["read", "write"], claims: { team: "a" } };
    if (token.token === "reader") return { subject: "reader", scopes: ["read"] };
    if (token.token === "old") throw new TokenError("this token is of last year");
    if (token.token === "narrow") throw new TokenError("more is needed", ["write"]);
    if (token.token === "broken") throw new Error("the database is gone");
    return undefined;
  };
  return { server, seen, auth: { resource, authorizationServers: ["https://auth.example"], requiredScopes: ["write"], verifier } };
}

const initialize = { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } };

async function post(url, token, message = initialize, more = {}) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...(token && { authorization: `Bearer ${token}` }), ...more };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  await answer.text();
  return [answer.status, answer.headers.get("www-authenticate") ?? ""];
}

test("AUS-01, AUS-02, AUS-05, AUS-10: a custom verifier admits callers or gives a reason; the identity is in ctx.auth", async () => {
  const { server, seen, auth } = guarded();
  const listener = await server.listen({ port: 0, auth });
  try {
    for (const [token, status, challenge] of [
      [undefined, 401, /resource_metadata=/],
      ["nobody", 401, /invalid_token/],
      ["old", 401, /last year/],
      ["narrow", 403, /insufficient_scope/],
      ["reader", 403, /scope="write"/],
      ["broken", 503, /^$/],
      ["alice", 200, /^$/],
    ]) {
      const [given, said] = await post(listener.url, token);
      assert.equal(given, status, `${token}: ${said}`);
      assert.match(said, challenge);
    }
    assert.deepEqual([seen[0].token, seen[0].scheme, seen[0].resource], ["nobody", "Bearer", resource]);
    const metadata = await (await fetch(new URL("/.well-known/oauth-protected-resource/mcp", listener.url))).json();
    assert.deepEqual([metadata.resource, metadata.authorization_servers], [resource, ["https://auth.example"]]);
    for (const revision of ["2025-11-25", "2026-07-28"]) {
      const client = await Client.connect(listener.url, { revision, headers: { authorization: "Bearer alice" } });
      const { subject, scopes, claims } = JSON.parse((await client.callTool("whoami")).content[0].text);
      assert.deepEqual([subject, scopes, claims], ["alice", ["read", "write"], { team: "a" }]);
      await client.close();
    }
  } finally {
    await server.close();
  }
});

test("AUS-10, AUS-11: the challenge of a tool with its own scopes names all required scopes", async () => {
  const { server, auth } = guarded();
  server.registerTool("delete", { scopes: ["delete"] }, () => "deleted");
  const listener = await server.listen({ port: 0, auth });
  try {
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "delete" };
    const [status, challenge] = await post(listener.url, "alice", { id: 1, method: "tools/call", params: { name: "delete", _meta } }, headers);
    assert.deepEqual([status, challenge.match(/scope="(.*?)"/)[1].split(" ").sort()], [403, ["delete", "write"]]);
  } finally {
    await server.close();
  }
});

test("a mounted server requires tokens, too", async () => {
  const { server, auth } = guarded();
  const handler = server.fetchHandler({ auth });
  const ask = (headers) => handler(new Request("http://localhost/mcp", { method: "POST", headers, body: "{}" }));
  assert.equal((await ask({ "content-type": "application/json" })).status, 401);
  // Only the endpoint requires a token; the other pages of a site do not.
  const at = server.fetchHandler({ auth, path: "/mcp" });
  for (const [path, status] of Object.entries({ "/mcp": 401, "/favicon.ico": 404, "/mcpp": 404 })) {
    const response = await at(new Request(`http://localhost${path}`));
    assert.deepEqual([response.status, response.headers.has("www-authenticate")], [status, status === 401], path);
  }
  await server.close();
});

test("a verifier sees the headers, target and peer address of the request with the token", async () => {
  const { server, auth } = guarded();
  const seen = [];
  const verifier = ({ token, headers, target, remoteAddress, ...rest }) => {
    seen.push([token, headers.authorization, headers["x-tenant"], new URL(target, "http://host").searchParams.get("tenant"), remoteAddress, rest.scheme]);
    return headers["x-tenant"] === "acme" ? { subject: "acme", scopes: ["write"] } : undefined;
  };
  const listener = await server.listen({ port: 0, auth: { ...auth, verifier } });
  try {
    const [status] = await post(`${listener.url}?tenant=acme`, "t", initialize, { "x-tenant": "acme" });
    assert.equal(status, 200);
    assert.equal((await post(`${listener.url}?tenant=acme`, "t"))[0], 401);
    assert.deepEqual(seen, [
      ["t", "Bearer t", "acme", "acme", "127.0.0.1", "Bearer"],
      ["t", "Bearer t", undefined, "acme", "127.0.0.1", "Bearer"],
    ]);
    let late;
    const other = await server.listen({ port: 0, auth: { ...auth, verifier: (token) => void (late = token) } });
    await post(other.url, "t");
    assert.throws(() => late.headers, { kind: "closed" });
  } finally {
    await server.close();
  }
});

test("invalid options are errors that name them", async () => {
  const { server, auth } = guarded();
  await assert.rejects(server.listen({ auth: { ...auth, issuer: "https://a.example" } }), { kind: "invalidArgument", message: /cannot be combined with a verifier/ });
  await assert.rejects(server.listen({ auth: { ...auth, verifier: "jwt" } }), { kind: "invalidArgument", message: /verifier of tokens must be a function/ });
  await assert.rejects(server.listen({ auth: { authorizationServers: [] } }), { kind: "invalidArgument", message: /resource/ });
  await assert.rejects(server.listen({ retries: 1 }), { kind: "invalidArgument", message: /retries/ });
  await server.close();
});

test("a listener on a Unix socket, or an error on Windows", async () => {
  const { server } = guarded();
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  const unix = join(folder, "it.sock");
  try {
    if (process.platform === "win32") return void (await assert.rejects(server.listen({ unix }), { kind: "invalidArgument" }));
    const listener = await server.listen({ unix, unixMode: "660" });
    assert.deepEqual([listener.url, listener.host, listener.port], [`unix:${unix}:/mcp`, "", 0]);
    assert.equal(statSync(unix).mode & 0o777, 0o660);
    const client = await Client.connect(listener.url);
    assert.equal((await client.callTool("whoami")).isError, undefined);
    await client.close();
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
});

test("AUC-31: a client sends its token or that of a function, which learns when a token was refused", async () => {
  const { server, auth } = guarded();
  const listener = await server.listen({ port: 0, auth });
  const subject = async (target, options) => {
    const client = await Client.connect(target, options);
    try {
      return JSON.parse((await client.callTool("whoami")).content[0].text).subject;
    } finally {
      await client.close();
    }
  };
  try {
    assert.equal(await subject(listener.url, { auth: "alice" }), "alice");
    assert.equal(await subject({ url: String(listener.url) }, { auth: "alice" }), "alice");
    const asked = [];
    const onAccessToken = async (request) => {
      asked.push(request);
      return { token: request.refused || asked.length > 2 ? "alice" : "old" };
    };
    assert.equal(await subject(listener.url, { onAccessToken }), "alice");
    assert.deepEqual(asked.slice(0, 3).map(({ refused }) => refused), [false, true, false]);
    assert.equal(asked[0].url, String(listener.url));
    await assert.rejects(subject(listener.url, { auth: "nobody" }), /401/);
    const fail = () => {
      throw new Error("no keychain");
    };
    await assert.rejects(subject(listener.url, { onAccessToken: fail }), /access_token failed/);
  } finally {
    await listener.close();
  }
});

test("a function returns the headers of each request", async () => {
  const { server, auth } = guarded();
  const listener = await server.listen({ port: 0, auth });
  try {
    const asked = [];
    const onRequestHeaders = (request) => {
      asked.push(request);
      return { headers: { Authorization: "Bearer alice" } };
    };
    const client = await Client.connect(listener.url, { onRequestHeaders });
    assert.equal(JSON.parse((await client.callTool("whoami")).content[0].text).subject, "alice");
    assert.deepEqual(asked[0], { method: "POST", url: String(listener.url) });
    await client.close();
    const wrong = { onRequestHeaders: () => ({ headers: { "Mcp-Name": "x" } }) };
    await assert.rejects(Client.connect(listener.url, wrong), /"mcp-name" is set by the protocol/);
  } finally {
    await listener.close();
  }
});

/** An authorization server, whose users agree to everything. */
async function authorizationServer(token) {
  const requests = [];
  const server = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${server.address().port}`;
    const answers = {
      "/.well-known/oauth-authorization-server": {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        registration_endpoint: `${issuer}/register`,
        token_endpoint: `${issuer}/token`,
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
      },
      "/register": { client_id: "registered" },
      "/token": { access_token: token, token_type: "Bearer", expires_in: 3600 },
    };
    if (request.url.startsWith("/authorize?")) {
      const query = new URL(request.url, issuer).searchParams;
      requests.push(`/authorize as ${query.get("client_id")}`);
      return response.writeHead(302, { location: `${query.get("redirect_uri")}?code=c&state=${query.get("state")}` }).end();
    }
    requests.push(request.url);
    response.writeHead(answers[request.url] ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(answers[request.url] ?? {}));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { issuer: `http://127.0.0.1:${server.address().port}`, requests, close: () => server.close() };
}

/** Runs with the URL of a protected server, and the paths that its authorization server got. */
async function withMachines(use) {
  const { server, auth } = guarded();
  const tokens = await authorizationServer("alice");
  const port = await freePort();
  const own = `http://127.0.0.1:${port}/mcp`;
  const listener = await server.listen({ port, auth: { ...auth, resource: own, authorizationServers: [tokens.issuer] } });
  try {
    await use(own, tokens.requests);
  } finally {
    await listener.close();
    tokens.close();
  }
}

/** Connects twice; the second connection uses the stored token. */
async function connectTwice(url, options, requests) {
  for (let time = 0; time < 2; ++time) {
    const client = await Client.connect(url, options);
    assert.equal(JSON.parse((await client.callTool("whoami")).content[0].text).subject, "alice");
    await client.close();
  }
  assert.equal(requests.filter((path) => path === "/token").length, 1);
}

const machine = { grant: "client_credentials", clientId: "machine", clientSecret: "secret" };

test("XAU-07: a client acts on its own behalf, and a custom store keeps its token", () =>
  withMachines(async (url, requests) => {
    const kept = new Map();
    const functions = {
      onLoadCredentials: async ({ key }) => ({ value: kept.get(key) }),
      onSaveCredentials: ({ key, value }) => void kept.set(key, value),
      onRemoveCredentials: ({ key }) => void kept.delete(key),
    };
    await connectTwice(url, { auth: machine, ...functions }, requests);
    assert.ok([...kept.values()].some((value) => value.includes("alice")));
  }));

for (const kind of sharedStores) {
  test(`the next connection uses a token from a store given as a URL: ${kind}`, () =>
    withMachines(async (url, requests) => {
      const connect = (store) => connectTwice(url, { auth: { ...machine, store } }, requests);
      if (kind === "redis") return withRedis(connect);
      const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
      try {
        await connect(`sqlite:${join(folder, "tokens.db")}`);
      } finally {
        // Windows cannot remove open files, and the store is closed shortly after its client.
        rmSync(folder, { recursive: true, maxRetries: 20 });
      }
    }));
}

/** Opens a page as a browser does, which follows the redirect to the library. */
async function visit({ url }) {
  assert.match(await (await fetch(url)).text(), /You can close this page/);
}

test("a program opens the login page itself", () =>
  withMachines(async (url, requests) => {
    const client = await Client.connect(url, { onOpenUrl: visit });
    assert.equal(JSON.parse((await client.callTool("whoami")).text).subject, "alice");
    await client.close();
    assert.deepEqual(requests.filter((path) => !path.startsWith("/.well-known")), ["/register", "/authorize as registered", "/token"]);
  }));

test("an error thrown by a credential function reaches the caller", () =>
  withMachines(async (url) => {
    const problem = new Error("the user closed the window");
    const fail = () => {
      throw problem;
    };
    for (const [operation, options] of [
      ["open_url", { onOpenUrl: fail }],
      ["open_url", { onOpenUrl: async () => fail() }],
      ["authorize", { onAuthorize: fail, auth: { redirectUri: "http://127.0.0.1:9/x" } }],
      ["access_token", { onAccessToken: fail }],
      ["request_headers", { onRequestHeaders: fail }],
      ["assertion", { onAssertion: fail, auth: { grant: "workload_identity" } }],
    ]) {
      const error = await Client.connect(url, options).catch((error) => error);
      assert.equal(error.kind, "authorizationRequired");
      assert.ok(error.message.endsWith(`${operation} failed: the user closed the window`), error.message);
      assert.equal(error.cause, problem, operation);
    }
    const error = await Client.connect(url, { onAccessToken: () => undefined }).catch((error) => error);
    assert.match(error.message, /onAccessToken returned undefined instead of an object \(Token\)/);
    assert.ok(error.cause instanceof TypeError);
    const pasted = await Client.connect(url, { onAuthorize: ({ url }) => url, auth: { redirectUri: "http://127.0.0.1:9/x" } }).catch((error) => error);
    assert.match(pasted.message, /onAuthorize returned string instead of an object \(Redirect\)$/);
  }));

test("each server of a group has its own credentials", () =>
  withMachines(async (url, requests) => {
    const group = await ClientGroup.connect(
      {
        one: { url, auth: { clientId: "first" } },
        other: { url, auth: { CLIENT_ID: "second", scopes: ["mcp"] } },
        token: { url, auth: "alice" },
        wrong: { url, auth: { clientSecret: "x" } },
      },
      { onOpenUrl: visit },
    );
    for (const name of ["one", "other", "token"]) assert.equal(JSON.parse((await group.callTool(`${name}__whoami`)).text).subject, "alice");
    assert.match((await group.servers())[3].error.message, /clientSecret needs/);
    await group.close();
    assert.deepEqual(requests.filter((path) => path.startsWith("/authorize")).sort(), ["/authorize as first", "/authorize as second"]);
  }));

test("errors name invalid authorization options", async () => {
  for (const [auth, named] of [
    [{ clientSecret: "x" }, /^auth\.clientSecret needs `clientId`$/],
    [{ loginTimeout: 0 }, /^auth\.loginTimeout must be more than 0/],
    [{ token: "x", dpop: true }, /dpop is for OAuth/],
    [{ grant: "workload_identity", assertion: "jwt", redirectUri: "http://localhost/x" }, /redirectUri is for the grant authorization_code/],
    [{ redirectUri: "https://a.example/done" }, /^auth\.redirectUri cannot be used: (?!.*Rust)/],
    [{ grant: "workload_identity" }, /assertion/],
    [{ loginTimeout: -1 }, /loginTimeout/],
    [{ clientid: "x" }, /clientid/],
  ]) {
    await assert.rejects(Client.connect("http://a.example", { auth }), { message: named });
  }
  for (const target of [["node"], { command: "node" }]) await assert.rejects(Client.connect(target, { auth: "x" }), /auth is for servers over HTTP/);
});

test("authorization functions must be given before connecting", async () => {
  const client = await Client.connect(new Server({ name: "plain", version: "1.0.0" }));
  assert.throws(() => client.setHandlers({ onAuthorize: () => ({ url: "" }) }), /authorize was set too late/);
  // The refused one is forgotten.
  client.setHandlers({ onElicit: () => ({ action: "decline" }) });
  await client.close();
});
