// The tutorial compiles and runs with the files and commands that it prints.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const docs = new URL("../../docs/", import.meta.url);
const page = (name) => readFileSync(new URL(name, docs), "utf8");
const packages = fileURLToPath(new URL("../node_modules", import.meta.url));

test("the tutorial compiles and runs as printed", { skip: process.platform === "win32" }, () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    const text = page("tutorial-node.md");
    const files = new Map([...text.matchAll(/```\w+ (\S+)\n(.*?)```/gs)].map(([, path, content]) => [basename(path).replace("tutorial_tsconfig", "tsconfig"), content]));
    for (const [name, content] of files) writeFileSync(join(folder, name), content);
    mkdirSync(join(folder, "node_modules", ".bin"), { recursive: true });
    for (const name of ["zod", "@types", "typescript"]) symlinkSync(join(packages, name), join(folder, "node_modules", name));
    symlinkSync(fileURLToPath(new URL("..", import.meta.url)), join(folder, "node_modules", "trunkline"));
    symlinkSync("../typescript/bin/tsc", join(folder, "node_modules", ".bin", "tsc"));
    const [, commands] = /## Compile\n\n((?: {4}.*\n)+)/.exec(text);
    const run = (command) => execFileSync("sh", ["-ec", command], { cwd: folder, encoding: "utf8" });
    run("npm init -y && npm pkg set type=module");
    assert.equal(run(commands), files.get("tutorial_client.txt"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("every page with `await using` says how to compile it", () => {
  const silent = readdirSync(docs).filter((name) => name.endsWith(".md") && page(name).includes("\nawait using ") && !/tutorial-node\.md#compile|## Compile/.test(page(name)));
  assert.deepEqual(silent, []);
});
