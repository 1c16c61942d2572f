// A server over HTTP that requires access tokens, with a tool that requires a scope.
import { AuthorizationRequiredError, Client, Server, type TokenVerifier } from "trunkline";

const server = new Server({ name: "files", version: "1.0.0" });

server.registerTool("whoami", { description: "Name the caller." }, (_, ctx) => ctx.auth?.subject ?? "nobody");
server.registerTool("delete", { description: "Delete all files.", scopes: ["write"] }, () => undefined);

// Replaces the built-in JWT verifier, for opaque tokens stored in your database.
const verifier: TokenVerifier = ({ token }) =>
  token === "token-of-ada" ? { subject: "ada", scopes: ["read"] } : undefined;

const { url } = await server.listen({
  port: 0,
  auth: { resource: "http://127.0.0.1/mcp", authorizationServers: ["https://login.example.com"], verifier },
});
const client = await Client.connect(url, { auth: "token-of-ada" });
console.log((await client.listTools()).map(({ name }) => name).join(", "));
console.log((await client.callTool("whoami")).text);
await client.close();
try {
  await Client.connect(url);
} catch (error) {
  if (error instanceof AuthorizationRequiredError) console.log(error.httpStatus);
}
await server.close();
