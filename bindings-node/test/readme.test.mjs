// The code of the README runs as it stands.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Peer, revisions } from "../test-support/peer.mjs";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const [first, more] = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
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
