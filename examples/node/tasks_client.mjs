// Calls a tool as a task: shows its states as they come, then its result.
import { setTimeout as sleep } from "node:timers/promises";

import { Client, Server } from "trunkline";

const server = new Server({ name: "reports", version: "1.0.0" }, { taskPollInterval: 50 });
server.registerTool("report", { description: "Writes the report of a year.", task: "optional" }, async ({ year }, ctx) => {
  ctx.setTaskMessage("half of it is written");
  await sleep(200);
  return `The report of ${year}`;
});

const client = await Client.connect(server);
const task = await client.startTask("report", { year: 2026 });
for await (const { status, statusMessage = "" } of task) console.log(status, statusMessage);
const { content } = await task.result();
console.log(content[0].text);
await client.close();
await server.close();
