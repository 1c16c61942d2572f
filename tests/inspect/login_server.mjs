// A server over HTTP that asks for a login, and an authorization server that refuses to register
// anybody.
import { createServer } from "node:http";

/** Starts both at one port. Returns the URL of the server, and how to stop it. */
export async function startLoginServer() {
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${server.address().port}`;
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    const answers = {
      "/mcp": [401, { error: "invalid_token" }],
      "/.well-known/oauth-protected-resource/mcp": [200, { resource: `${origin}/mcp`, authorization_servers: [origin] }],
      "/.well-known/oauth-authorization-server": [
        200,
        {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
        },
      ],
      "/register": [400, { error: "invalid_client_metadata", error_description: "nobody may register" }],
    };
    const [status, body] = answers[request.url] ?? [404, { error: "not_found" }];
    const headers = { "content-type": "application/json", "www-authenticate": `Bearer resource_metadata="${metadata}"` };
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, stop };
}
