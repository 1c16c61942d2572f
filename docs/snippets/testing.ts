// Tests of a server without sockets or processes, with assertions as in `node:test` or Vitest.
import assert from "node:assert/strict";

import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "calculator", version: "1.0.0" });

const divide = ({ dividend, divisor }: { dividend: number; divisor: number }) => {
  if (divisor === 0) throw new RangeError("division by zero");
  return dividend / divisor;
};
const inputSchema = z.object({ dividend: z.number(), divisor: z.number() });
server.registerTool("divide", { description: "Divide two numbers.", inputSchema }, divide);

// The function itself.
assert.equal(divide({ dividend: 3, divisor: 2 }), 1.5);

// A call over the protocol, on the newest revision and on an older one.
for (const revision of ["2026-07-28", "2024-11-05"] as const) {
  await using client = await Client.connect(server, { revision });
  const result = await client.callTool("divide", { dividend: 3, divisor: 2 });
  assert.deepEqual([client.revision, result.content], [revision, [{ type: "text", text: "1.5" }]]);
}

// Exceptions of a handler.
await using client = await Client.connect(server, { raiseExceptions: true });
await assert.rejects(client.callTool("divide", { dividend: 3, divisor: 0 }), (error: Error) => {
  console.log("the handler failed:", error.message);
  return error instanceof RangeError;
});
console.log("all passed");
