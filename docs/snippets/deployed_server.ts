// A server for containers: configured by environment variables, stopped by SIGTERM.
import { hostname } from "node:os";

import { Server } from "trunkline";
import { z } from "zod";

const { PORT = "8000", STORE } = process.env;

// On shutdown, calls get 20 s; other workers take over the sessions through the store.
const server = new Server({ name: "greeter", version: "1.0.0" }, { store: STORE, drainDeadline: 20_000 });

server.registerTool("greet", { description: "Greet someone.", inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
  return `Hello, ${name}, from ${hostname()}!`;
});

// Listens on all addresses of the container, with probes at /healthz and /readyz.
const listener = await server.listen({ host: "0.0.0.0", port: Number(PORT), health: true });
await listener.run();
