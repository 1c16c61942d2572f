// A task that outlives its server: the next one finds the result in the same file.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client, Server } from "trunkline";
import { z } from "zod";

function reports(file: string): Server {
  const server = new Server({ name: "reports", version: "1.0.0" }, { store: `sqlite:${file}` });
  server.registerTool(
    "report",
    { description: "Write the report of a year.", inputSchema: z.object({ year: z.int() }), task: "optional" },
    ({ year }) => `The report of ${year}`,
  );
  return server;
}

const folder = await mkdtemp(join(tmpdir(), "reports-"));
const file = join(folder, "state.db");
const first = await Client.connect(reports(file));
const task = await first.startTask("report", { year: 2026 });
await task.result();
await first.close();

const next = await Client.connect(reports(file));
const again = await next.resumeTask(task.id!);
console.log((await again.result()).text);
await next.close();
await rm(folder, { recursive: true, force: true });
