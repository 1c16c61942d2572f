import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as esm from "trunkline";

const require = createRequire(import.meta.url);
const home = fileURLToPath(new URL("..", import.meta.url));

test("import and require give the same things", () => {
  const cjs = require("trunkline");
  const names = Object.keys(cjs).sort();
  assert.deepEqual(Object.keys(esm).filter((name) => !["default", "module.exports", "__esModule"].includes(name)).sort(), names);
  for (const name of names) assert.equal(esm[name], cjs[name], name);
  assert.ok(names.includes("Server") && names.includes("Client") && names.includes("ToolError"));
});

test("the package asks for nothing else at run time", () => {
  const manifest = require("trunkline/package.json");
  assert.deepEqual([manifest.dependencies, manifest.peerDependencies], [undefined, undefined]);
});

test("without a native library the error names the package to install", () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    cpSync(join(home, "dist"), join(folder, "dist"), { recursive: true });
    copyFileSync(join(home, "package.json"), join(folder, "package.json"));
    const run = (env) =>
      spawnSync(process.execPath, ["-e", 'new (require("./dist/index.js").Server)({ name: "a", version: "1" })'], { cwd: folder, env: { ...process.env, ...env }, encoding: "utf8" });
    const missing = run({ TRUNKLINE_NATIVE: "" });
    assert.equal(missing.status, 1);
    assert.match(missing.stderr, new RegExp(`the optional package @trunkline/${process.platform}-${process.arch}\\S*, which is not installed. Run: npm install @trunkline/\\S+@`));
    const wrong = run({ TRUNKLINE_NATIVE: join(folder, "package.json") });
    assert.match(wrong.stderr, /package\.json \(named by TRUNKLINE_NATIVE\) does not load/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what is packed has the licences, and a page that says what it is", () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    const [platform] = require("trunkline/package.json").platforms;
    mkdirSync(join(folder, "scripts"));
    for (const name of ["scripts/platform-package.mjs", "package.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(home, name), join(folder, name));
    execFileSync(process.execPath, [join(folder, "scripts/platform-package.mjs"), platform, join(home, "package.json")]);
    for (const packed of [folder, join(folder, "npm", platform)]) {
      const listed = execFileSync("npm", ["pack", "--dry-run", "--json", "--offline"], { cwd: packed, encoding: "utf8", shell: process.platform === "win32", stdio: ["ignore", "pipe", "ignore"] });
      const files = JSON.parse(listed)[0].files.map(({ path }) => path);
      for (const name of ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"]) assert.ok(files.includes(name), `${packed}: ${files}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("there is a library for every platform that the package names", () => {
  const jobs = readFileSync(new URL("../../.github/workflows/ci.yml", import.meta.url), "utf8");
  const built = new Set([...jobs.matchAll(/\bplatform: ([a-z0-9-]+)/g)].map(([, platform]) => platform));
  assert.deepEqual([...built].sort(), require("trunkline/package.json").platforms.toSorted());
});

test("a platform package is found", () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    const platforms = require("trunkline/package.json").platforms.filter((name) => name.startsWith(`${process.platform}-${process.arch}`));
    const library = process.env.TRUNKLINE_NATIVE || join(home, "trunkline.node");
    cpSync(join(home, "dist"), join(folder, "node_modules/trunkline/dist"), { recursive: true });
    copyFileSync(join(home, "package.json"), join(folder, "node_modules/trunkline/package.json"));
    mkdirSync(join(folder, "tree/scripts"), { recursive: true });
    copyFileSync(join(home, "scripts/platform-package.mjs"), join(folder, "tree/scripts/platform-package.mjs"));
    for (const name of ["package.json", "LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(home, name), join(folder, "tree", name));
    for (const platform of platforms) {
      execFileSync(process.execPath, [join(folder, "tree/scripts/platform-package.mjs"), platform, library]);
      cpSync(join(folder, "tree/npm", platform), join(folder, "node_modules/@trunkline", platform), { recursive: true });
    }
    const script = 'new (require("trunkline").Server)({ name: "a", version: "1" }); console.log("found")';
    const found = spawnSync(process.execPath, ["-e", script], { cwd: folder, env: { ...process.env, TRUNKLINE_NATIVE: "" }, encoding: "utf8" });
    assert.equal(found.stdout, "found\n", found.stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const name of ["node", "bun", "deno"]) {
  test(`pipes are read on the event loop of Node only: ${name}`, () => {
    const script = `
      if (${JSON.stringify(name)} !== "node") Object.defineProperty(process, "versions", { value: { ...process.versions, [${JSON.stringify(name)}]: "1.0.0" } });
      const { Client, Server } = require("trunkline");
      const { Port } = require("./dist/native.js").native();
      const { open } = Port.prototype;
      Port.prototype.open = function (json) {
        console.log(JSON.parse(json).hostDrivenReads);
        return open.call(this, json);
      };
      const server = new Server({ name: "a", version: "1" });
      Client.connect(server).then((client) => client.close());`;
    const run = spawnSync(process.execPath, ["-e", script], { cwd: home, encoding: "utf8" });
    assert.equal(run.stdout, `${name === "node"}\n`, run.stderr);
  });
}
