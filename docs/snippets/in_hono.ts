// A server mounted in a Hono application, and a client that calls it.
import { once } from "node:events";
import type { AddressInfo } from "node:net";

import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { mount } from "hono/mount";
import { Client, Server } from "trunkline";

const server = new Server({ name: "mounted", version: "1.0.0" });
server.registerTool("hello", { description: "Greet." }, () => "Hello from Hono");

const app = new Hono();
app.all("/mcp/*", mount(server.fetch));
app.get("/", (context) => context.text("An ordinary page"));

const web = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
if (!web.listening) await once(web, "listening");
const { port } = web.address() as AddressInfo;
const client = await Client.connect(`http://127.0.0.1:${port}/mcp`);
console.log((await client.callTool("hello")).text);
await client.close();
await server.close();
web.close();
