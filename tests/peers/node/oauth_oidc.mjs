// A protected server of ours, with oidc-provider as its authorization server: what it does without
// options, but for dynamic registration. Its tokens are opaque.
//
// oauth_oidc.mjs PORT
import { createServer } from "node:http";

import { Provider } from "oidc-provider";
import { Server } from "trunkline";

const port = Number(process.argv[2]);
const scope = "mcp";
const front = createServer();
await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${front.address().port}`;
const resource = `http://127.0.0.1:${port}/mcp`;
const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", scope],
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  features: {
    registration: { enabled: true },
    resourceIndicators: { enabled: true, getResourceServerInfo: () => ({ scope }) },
  },
  ttl: { AccessToken: 20 },
});
front.on("request", provider.callback());

/** Looks an opaque token up. */
async function verifier({ token }) {
  const found = await provider.AccessToken.find(token);
  return found && { subject: found.accountId, clientId: found.clientId, scopes: found.scope.split(" ") };
}

const server = new Server({ name: "oauth-oidc", version: "1.0.0" });
server.registerTool("call", {}, () => "called");
const listener = await server.listen({
  port,
  auth: { resource, authorizationServers: [issuer], requiredScopes: [scope], scopes: [scope], verifier },
});
console.log(`listening ${listener.url}`);
