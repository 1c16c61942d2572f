// Skills, and tools with an app, in raw messages.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";

import { fileURLToPath } from "node:url";

import { Client } from "trunkline";

import { Peer, modern, revisions } from "../test-support/peer.mjs";

const skill = "../test-programs/skill/";
const program = fileURLToPath(new URL("../test-programs/extensions.mjs", import.meta.url));
const start = (revision) => Peer.start("../test-programs/extensions.mjs", { revision, args: [skill] });
const digest = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

describe("skills", () => {
  let peer;
  before(async () => (peer = await start(modern)));
  after(() => peer.close());
  const uris = async () => (await peer.result("skills/list")).skills.map(({ uri }) => uri);

  test("SKL-01, SKL-20, SKL-24: files in memory, with their digests", async () => {
    const { capabilities } = await peer.result("server/discover");
    assert.ok("io.modelcontextprotocol/skills" in capabilities.extensions);
    const { skill, ttlMs, cacheScope } = await peer.result("skills/get", { uri: "skill://team/given/SKILL.md" });
    assert.deepEqual([skill.frontmatter, ttlMs, cacheScope], [{ name: "given", description: "Does given.", metadata: { team: "a" } }, 5000, "public"]);
    const bytes = skill.resources.find(({ uri }) => uri === "skill://team/given/data/bytes.bin");
    assert.deepEqual([bytes.size, bytes.digest], [2, digest(new Uint8Array([0, 255]))]);
    const { contents } = await peer.result("resources/read", { uri: bytes.uri });
    assert.equal(contents[0].blob, "AP8=");
  });

  test("SKL-22, SKL-47: a folder", async () => {
    assert.deepEqual(await uris(), ["skill://team/given/SKILL.md", "skill://from-folder/SKILL.md"]);
    const { skill: entry } = await peer.result("skills/get", { uri: "skill://from-folder/SKILL.md" });
    assert.deepEqual(entry.resources.map(({ uri }) => uri).sort(), ["skill://from-folder/SKILL.md", "skill://from-folder/references/notes.md"]);
    const notes = readFileSync(new URL(`${skill}references/notes.md`, import.meta.url), "utf8");
    const { contents } = await peer.result("resources/read", { uri: "skill://from-folder/references/notes.md" });
    assert.deepEqual([contents[0].text, contents[0].mimeType], [notes, "text/markdown"]);
  });

  test("SKL-49, SKL-50: a skill and its files are loaded", async () => {
    const client = await Client.connect([process.execPath, program, skill]);
    const { skill: entry } = await client.getSkill("skill://team/given/SKILL.md");
    assert.match((await client.loadSkill(entry)).text, /^---\nname: given\n/);
    const { uri, blob } = await client.readSkillFile(entry, "data/bytes.bin");
    assert.deepEqual([uri, blob], ["skill://team/given/data/bytes.bin", "AP8="]);
    await assert.rejects(client.readSkillFile(entry, "../../elsewhere"), { kind: "invalidArgument" });
    await client.close();
  });

  test("SKL-45: a removed skill is not found, and can be added again", async () => {
    await peer.call("forget");
    assert.deepEqual(await uris(), ["skill://team/given/SKILL.md"]);
    assert.equal((await peer.request("skills/get", { uri: "skill://from-folder/SKILL.md" })).error.code, -32602);
    await peer.call("again");
    assert.equal((await uris()).length, 2);
  });

  test("SKL-08, SKL-11: an invalid skill is refused with a reason", async () => {
    const refused = JSON.parse(await peer.call("wrong"));
    const patterns = [/needs the file SKILL\.md/, /frontmatter/, /\.\.\/y/, /"SKILL\.md" of a skill must be a string or bytes, not number/, /must be a path or a file: URL/, /no\/such\/folder/, /must end with its name/];
    assert.equal(refused.length, patterns.length);
    for (const [at, pattern] of patterns.entries()) assert.match(refused[at], new RegExp(`^invalidArgument: .*${pattern.source}`));
  });
});

for (const revision of revisions) {
  test(`SKL-15: a skill's manifest is a resource, revision ${revision}`, async () => {
    const peer = await start(revision);
    try {
      const { resources } = await peer.result("resources/list");
      const { name, description, mimeType } = resources.find(({ uri }) => uri === "skill://team/given/SKILL.md");
      assert.deepEqual([name, description, mimeType], ["given", "Does given.", "text/markdown"]);
    } finally {
      await peer.close();
    }
  });

  test(`APP-02, APP-05, APP-15: a tool names its app and still returns text, revision ${revision}`, async () => {
    const peer = await start(revision);
    try {
      const { tools } = await peer.result("tools/list");
      const shown = { a: 1, ui: { visibility: ["model"], resourceUri: "ui://chart/view" } };
      assert.deepEqual(tools.find(({ name }) => name === "chart")._meta, revision >= "2025-06-18" ? shown : undefined);
      assert.equal(await peer.call("chart"), "a chart in words");
      const { contents } = await peer.result("resources/read", { uri: "ui://chart/view" });
      assert.equal(contents[0].mimeType, "text/html;profile=mcp-app");
    } finally {
      await peer.close();
    }
  });
}
