// A server over HTTP that asks for a login, and its authorization server.
import { URLSearchParams } from "node:url";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const TOKEN = "a-token-of-the-test";

/** The answers of the MCP server to a client with the token. */
const RESULTS = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "behind a login", version: "1.0.0" } },
  "tools/list": { tools: [{ name: "secret", description: "Known after the login", inputSchema: { type: "object" } }] },
  ping: {},
};

function mcp({ headers }, body, origin) {
  if (headers.authorization !== `Bearer ${TOKEN}`) {
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    return [401, { error: "invalid_token" }, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }];
  }
  if (body === "") return [405, {}];
  const { id, method } = JSON.parse(body);
  if (id === undefined) return [202, ""];
  const result = RESULTS[method];
  return result ? [200, { jsonrpc: "2.0", id, result }] : [400, { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }];
}

/** The authorization server: it registers anybody, unless it `refuses`, and asks for consent. */
function authorization(path, query, body, origin, { refuses, codes }) {
  switch (path) {
    case "/.well-known/oauth-protected-resource/mcp":
      return [200, { resource: `${origin}/mcp`, authorization_servers: [origin] }];
    case "/.well-known/oauth-authorization-server":
      return [
        200,
        {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        },
      ];
    case "/register":
      if (refuses) return [400, { error: "invalid_client_metadata", error_description: "nobody may register" }];
      return [201, { ...JSON.parse(body), client_id: "the-page", token_endpoint_auth_method: "none" }];
    case "/authorize": {
      const code = randomUUID();
      codes.add(code);
      const back = new URL(query.get("redirect_uri"));
      back.search = new URLSearchParams({ code, state: query.get("state"), iss: origin });
      return [200, `<!doctype html><title>Consent</title><a href="${back.href.replaceAll("&", "&amp;")}">Allow</a>`, { "content-type": "text/html" }];
    }
    case "/token":
      if (!codes.delete(new URLSearchParams(body).get("code"))) return [400, { error: "invalid_grant" }];
      return [200, { access_token: TOKEN, token_type: "Bearer", expires_in: 3600 }];
    default:
      return [404, { error: "not_found" }];
  }
}

/** Starts both at one port. Returns the URL of the server, and how to stop it. */
export async function startLoginServer({ refuses }) {
  const codes = new Set();
  const server = createServer(async (request, response) => {
    const origin = `http://127.0.0.1:${server.address().port}`;
    let body = "";
    for await (const part of request) body += part;
    const { pathname, searchParams } = new URL(request.url, origin);
    const [status, content, headers] =
      pathname === "/mcp" ? mcp(request, body, origin) : authorization(pathname, searchParams, body, origin, { refuses, codes });
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof content === "string" ? content : JSON.stringify(content));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, stop };
}
