// A tool called as a task: the client follows its status, then gets the result.
import { setTimeout as sleep } from "node:timers/promises";

import { Client, Server } from "trunkline";
import { z } from "zod";

const server = new Server({ name: "reports", version: "1.0.0" }, { taskPollInterval: 50 });

server.registerTool(
  "report",
  { description: "Write the report of a year.", inputSchema: z.object({ year: z.int() }), task: "optional" },
  async ({ year }, ctx) => {
    ctx.setTaskMessage("half of it is written");
    await sleep(100);
    return `The report of ${year}`;
  },
);

await using client = await Client.connect(server);
const task = await client.startTask("report", { year: 2026 });
let last;
for await (const { status } of task) last = status; // with statusMessage, for people
console.log(last);
console.log((await task.result()).text);
