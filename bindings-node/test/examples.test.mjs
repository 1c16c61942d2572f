// The examples run as they stand.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const example = (name) => fileURLToPath(new URL(`../../examples/node/${name}`, import.meta.url));
const client = (...args) => spawnSync(process.execPath, [example("client.mjs"), ...args], { encoding: "utf8", timeout: 30_000 });
const expected = /^connected to weather, revision 2026-07-28\ntool forecast: .*\n(progress \d of 2\n)+day 1: snow\nday 2: snow\n$/;

test("the example client starts the example server", () => {
  const { stdout, stderr, status } = client();
  assert.equal(status, 0, stderr);
  assert.match(stdout, expected);
});

test("the example client calls the example server over HTTP", async () => {
  const server = spawn(process.execPath, [example("server.mjs"), "0"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(createInterface({ input: server.stdout }), "line");
    const { stdout, stderr, status } = client(line.replace("listening at ", ""));
    assert.equal(status, 0, stderr);
    assert.match(stdout, expected);
  } finally {
    server.kill();
  }
});
