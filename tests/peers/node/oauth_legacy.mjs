// A server of the official TypeScript SDK with the SDK's authorization server, which is part of its
// 1.x line, and for the 2.x line a package of its own.
//
// oauth_legacy.mjs 1|2 PORT
import { randomUUID } from "node:crypto";

import express from "express";

const sdk = "@modelcontextprotocol/sdk";
const lines = {
  1: async () => ({
    ...(await import(`${sdk}/server/auth/router.js`)),
    ...(await import(`${sdk}/server/auth/middleware/bearerAuth.js`)),
    ...(await import(`${sdk}/server/auth/errors.js`)),
    ...(await import(`${sdk}/server/mcp.js`)),
    Transport: (await import(`${sdk}/server/streamableHttp.js`)).StreamableHTTPServerTransport,
  }),
  2: async () => ({
    ...(await import("@modelcontextprotocol/server")),
    ...(await import("@modelcontextprotocol/server-legacy/auth")),
    Transport: (await import("@modelcontextprotocol/node")).NodeStreamableHTTPServerTransport,
  }),
};
const { InvalidGrantError, InvalidTokenError, McpServer, Transport, getOAuthProtectedResourceMetadataUrl, mcpAuthRouter, requireBearerAuth } = await lines[process.argv[2]]();
const port = Number(process.argv[3]);
const issuerUrl = new URL(`http://127.0.0.1:${port}`);
const resourceServerUrl = new URL("/mcp", issuerUrl);
const scope = "mcp:tools";
/** So short that each request of a client renews its token. */
const tokenTtlSeconds = 20;

/** Keeps everything in memory. Users log in and agree at once. */
class Provider {
  #clients = new Map();
  #codes = new Map();
  #tokens = new Map();
  #refreshTokens = new Map();

  clientsStore = {
    getClient: (id) => this.#clients.get(id),
    registerClient: (client) => {
      this.#clients.set(client.client_id, client);
      return client;
    },
  };

  async authorize(client, params, response) {
    const code = randomUUID();
    this.#codes.set(code, { clientId: client.client_id, ...params });
    const to = new URL(params.redirectUri);
    to.searchParams.set("code", code);
    to.searchParams.set("state", params.state);
    response.redirect(to.href);
  }

  async challengeForAuthorizationCode(client, code) {
    return this.#of(this.#codes, client, code).codeChallenge;
  }

  async exchangeAuthorizationCode(client, code) {
    const known = this.#of(this.#codes, client, code);
    this.#codes.delete(code);
    return this.#issue({ clientId: known.clientId, scopes: known.scopes ?? [] });
  }

  async exchangeRefreshToken(client, refreshToken) {
    const known = this.#of(this.#refreshTokens, client, refreshToken);
    this.#refreshTokens.delete(refreshToken);
    return this.#issue(known);
  }

  async verifyAccessToken(token) {
    const known = this.#tokens.get(token);
    if (!known) throw new InvalidTokenError("an unknown token");
    return { token, ...known, expiresAt: Math.floor(Date.now() / 1000) + tokenTtlSeconds };
  }

  #of(all, client, key) {
    const known = all.get(key);
    if (known?.clientId !== client.client_id) throw new InvalidGrantError("unknown");
    return known;
  }

  #issue(known) {
    const [token, refreshToken] = [randomUUID(), randomUUID()];
    this.#tokens.set(token, known);
    this.#refreshTokens.set(refreshToken, known);
    return { access_token: token, token_type: "bearer", expires_in: tokenTtlSeconds, scope: known.scopes.join(" "), refresh_token: refreshToken };
  }
}

const provider = new Provider();
const app = express();
app.use(mcpAuthRouter({ provider, issuerUrl, resourceServerUrl, scopesSupported: [scope] }));
const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resourceServerUrl);
app.use("/mcp", requireBearerAuth({ verifier: provider, requiredScopes: [scope], resourceMetadataUrl }), express.json());
app.all("/mcp", async (request, response) => {
  const server = new McpServer({ name: "oauth-legacy", version: "1.0.0" });
  server.registerTool("call", {}, () => ({ content: [{ type: "text", text: "called" }] }));
  const transport = new Transport({ sessionIdGenerator: undefined });
  response.on("close", () => void transport.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.listen(port, "127.0.0.1", () => console.log(`listening ${resourceServerUrl}`));
