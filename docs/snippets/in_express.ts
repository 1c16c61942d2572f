// A server mounted in an Express application, and a client that calls it.
import { once } from "node:events";
import type { AddressInfo } from "node:net";

import express from "express";
import { Client, Server } from "trunkline";

const server = new Server({ name: "mounted", version: "1.0.0" });
server.registerTool("hello", { description: "Greet." }, () => "Hello from Express");

const app = express();
app.use("/mcp", server.handler());
app.get("/", (_, response) => void response.send("An ordinary page"));

const web = app.listen(0, "127.0.0.1");
await once(web, "listening");
const { port } = web.address() as AddressInfo;
const client = await Client.connect(`http://127.0.0.1:${port}/mcp`);
console.log((await client.callTool("hello")).text);
await client.close();
await server.close();
web.close();
