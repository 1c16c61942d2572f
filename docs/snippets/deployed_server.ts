// A server as a container runs it: the environment configures it, and SIGTERM ends it.
import { hostname } from "node:os";

import { Server } from "trunkline";
import { z } from "zod";

const { PORT = "8000", STORE } = process.env;

// A worker that ends gives its calls 20 s. Others go on with its sessions, by the store.
const server = new Server({ name: "greeter", version: "1.0.0" }, { store: STORE, drainDeadline: 20_000 });

server.registerTool("greet", { description: "Greet someone.", inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
  return `Hello, ${name}, from ${hostname()}!`;
});

// All addresses of the container, and probes at /healthz and /readyz.
const listener = await server.listen({ host: "0.0.0.0", port: Number(PORT), health: true });
await listener.run();
