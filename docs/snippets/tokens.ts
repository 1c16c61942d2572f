// A client that gets access tokens from a function, and a new one when the server refuses one.
import { Client, Server, type TokenVerifier } from "trunkline";

const server = new Server({ name: "files", version: "1.0.0" });
server.registerTool("whoami", { description: "Name the caller." }, (_, ctx) => ctx.auth?.subject ?? "nobody");

const verifier: TokenVerifier = ({ token }) => (token === "token-of-today" ? { subject: "ada" } : undefined);
const { url } = await server.listen({
  port: 0,
  auth: { resource: "http://127.0.0.1/mcp", authorizationServers: ["https://login.example.com"], verifier },
});

let token = "token-of-yesterday";
const client = await Client.connect(url, {
  onAccessToken: ({ refused }) => {
    if (refused) {
      console.log("the token was refused"); // here the program gets a new token
      token = "token-of-today";
    }
    return { token };
  },
});
console.log((await client.callTool("whoami")).text);
await client.close();
await server.close();
