// The code of the README runs as it stands.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Server } from "trunkline";

import { Peer, revisions } from "../test-support/peer.mjs";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const [first, more, client] = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
const program = new URL("../test-programs/readme.mjs", import.meta.url);

test("the server of the README serves every revision", async () => {
  const [registering, serving] = first.split(/(?=await server.serveStdio)/);
  writeFileSync(program, `${registering}\n${more}\n${serving}`);
  try {
    for (const revision of revisions) {
      const answers = { "elicitation/create": () => ({ action: "accept", content: { people: 2 } }) };
      const peer = await Peer.start(fileURLToPath(program), { revision, capabilities: { elicitation: {} }, answers });
      assert.equal(await peer.call("forecast", { city: "Oslo" }), "Oslo: sunny");
      assert.equal((await peer.request("tools/call", { name: "forecast", arguments: { city: "Atlantis" } })).result.isError, true);
      assert.equal((await peer.result("resources/read", { uri: "notes://today" })).contents[0].text, "the note today");
      assert.equal((await peer.result("prompts/get", { name: "plan", arguments: { city: "Oslo" } })).messages[0].content.text, "Plan a day in Oslo.");
      const argument = { name: "city", value: "Ot" };
      assert.deepEqual((await peer.result("completion/complete", { ref: { type: "ref/prompt", name: "plan" }, argument })).completion.values, ["Ottawa"]);
      assert.equal(await peer.call("count"), "2 cities");
      assert.match((await peer.result("resources/read", { uri: "skill://packing/SKILL.md" })).contents[0].text, /Ask for the forecast/);
      if (revision >= "2025-06-18") assert.equal(await peer.call("book"), "a table for 2");
      await peer.close();
    }
  } finally {
    rmSync(program);
  }
});

test("the client of the README calls that server", async () => {
  const file = new URL("../test-programs/readme-client.mjs", import.meta.url);
  const server = new Server({ name: "weather", version: "1.0.0" });
  server.registerTool("forecast", { inputSchema: { type: "object" } }, async ({ city }, ctx) => {
    await ctx.progress(1, 1);
    return `${city}: sunny`;
  });
  const { url } = await server.listen({ port: 0 });
  try {
    // Port 8000 is the server's of the README; here several tests run at the same time.
    assert.ok(client.includes("http://localhost:8000/mcp"));
    writeFileSync(file, client.replace("http://localhost:8000/mcp", url));
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(file)]);
    assert.match(stdout, /name: 'forecast'[^]*progress: 1[^]*Oslo: sunny/);
  } finally {
    rmSync(file, { force: true });
    await server.close();
  }
});
