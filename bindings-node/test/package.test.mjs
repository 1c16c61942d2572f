import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { buildSync } from "esbuild";
import * as esm from "trunkline";
import ts from "typescript";

const require = createRequire(import.meta.url);
const home = fileURLToPath(new URL("..", import.meta.url));
const library = process.env.TRUNKLINE_NATIVE || join(home, "trunkline.node");

/** Runs a script with a copy of the package in a separate folder. */
function withCopy(work) {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    cpSync(join(home, "dist"), join(folder, "node_modules/trunkline/dist"), { recursive: true });
    copyFileSync(join(home, "package.json"), join(folder, "node_modules/trunkline/package.json"));
    const run = (script, env) => spawnSync(process.execPath, ["-e", script], { cwd: folder, env: { ...process.env, TRUNKLINE_NATIVE: "", ...env }, encoding: "utf8" });
    return work(folder, run);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const start = 'new (require("trunkline").Server)({ name: "a", version: "1" });';
const { platforms, version } = require("trunkline/package.json");
const ours = platforms.filter((name) => name.startsWith(`${process.platform}-${process.arch}`));

test("import and require export the same names", () => {
  const cjs = require("trunkline");
  const names = Object.keys(cjs).sort();
  assert.deepEqual(Object.keys(esm).filter((name) => !["default", "module.exports", "__esModule"].includes(name)).sort(), names);
  for (const name of names) assert.equal(esm[name], cjs[name], name);
  // TrunklineError is the common base under another type.
  for (const name of names) if (name !== "TrunklineError") assert.equal(cjs[name].name, name);
  const server = new cjs.Server({ name: "a", version: "1" });
  assert.throws(() => server.registerTool("a b", {}, () => ""), ({ stack }) => stack.includes("at Server.registerTool ("));
  assert.ok(names.includes("Server") && names.includes("Client") && names.includes("ToolError"));
});

test("Node.js loads few files, which is fast", () => {
  const loaded = Object.keys(require.cache).filter((file) => file.startsWith(join(home, "dist")));
  assert.deepEqual(loaded.map((file) => file.slice(home.length).replaceAll("\\", "/")).sort(), ["dist/index.js", "dist/native/place.js", "dist/trunkline.js"]);
});

test("the modules for bundlers export the same names, from their own code", () => {
  const script = `
    import * as modules from "trunkline";
    import { createRequire } from "node:module";
    const server = new modules.Server({ name: "a", version: "1" });
    server.registerTool("hello", {}, () => "Hello");
    const client = await modules.Client.connect(server);
    const { content } = await client.callTool("hello");
    await client.close();
    console.log(JSON.stringify({ text: content[0].text, names: Object.keys(modules), own: modules.Server !== createRequire(process.cwd() + "/a.js")("./dist/index.js").Server }));`;
  const run = (env) => spawnSync(process.execPath, ["--conditions=module", "--input-type=module", "-e", script], { cwd: home, env: { ...process.env, ...env }, encoding: "utf8" });
  const found = run({ TRUNKLINE_NATIVE: library });
  assert.deepEqual(JSON.parse(found.stdout || "null"), { text: "Hello", names: Object.keys(require("trunkline")).sort(), own: true }, found.stderr);
  assert.match(run({ TRUNKLINE_NATIVE: "" }).stderr, /not in a node_modules at or above \S+place\.js\. Install it there, copy its file to \S+trunkline\.\S+\.node, or set the environment variable TRUNKLINE_NATIVE to its path\. In Next\.js, list trunkline in serverExternalPackages instead/);
});

test("the package has no run-time dependencies except those of some schemas and telemetry", () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = require("trunkline/package.json");
  assert.equal(dependencies, undefined);
  assert.deepEqual(Object.keys(peerDependencies), ["@opentelemetry/api", "@types/node", "@valibot/to-json-schema"]);
  for (const name of Object.keys(peerDependencies)) assert.deepEqual(peerDependenciesMeta[name], { optional: true });
});

test("without a native library the error names the package to install", () => {
  withCopy((folder, run) => {
    const missing = run(start);
    assert.equal(missing.status, 1);
    assert.match(missing.stderr, new RegExp(`the optional package @trunkline/${process.platform}-${process.arch}\\S*, which is not installed. Run: npm install @trunkline/\\S+@${version}`));
    assert.match(run(start, { TRUNKLINE_NATIVE: join(folder, "node_modules/trunkline/package.json") }).stderr, /package\.json \(named by TRUNKLINE_NATIVE\) failed to load/);
  });
});

test("an unsupported platform gets an error that lists the supported ones", () => {
  const script = `Object.defineProperty(process, "platform", { value: "aix" }); Object.defineProperty(process, "arch", { value: "ppc64" }); ${start}`;
  withCopy((_, run) => {
    const { stderr } = run(script);
    const named = /no native library for aix-ppc64; supported platforms are ([a-z0-9, -]+)\. To use one that you built from source, set the environment variable TRUNKLINE_NATIVE to its path/.exec(stderr)?.[1];
    assert.deepEqual(named?.split(", "), platforms, stderr);
  });
  const source = readFileSync(join(home, "dist/native/place.js"), "utf8");
  const literal = [...source.matchAll(/require\("@trunkline\/([a-z0-9-]+)"\)/g)].map(([, name]) => name);
  assert.deepEqual(literal, platforms, "each package has a literal name in place.ts");
});

test("a library of another version is refused", () => {
  withCopy((folder, run) => {
    for (const platform of ours) {
      const packaged = join(folder, "node_modules/@trunkline", platform);
      mkdirSync(packaged, { recursive: true });
      writeFileSync(join(packaged, "index.js"), 'exports.VERSION = "9.8.7";');
    }
    const other = run(start);
    assert.match(other.stderr, new RegExp(`trunkline ${version} needs its native library in the same version, but @trunkline/\\S+ is 9\\.8\\.7: reinstall both, as in npm install trunkline@${version}`));
    for (const platform of ours) writeFileSync(join(folder, "node_modules/@trunkline", platform, "index.js"), "throw new Error('is torn');");
    assert.match(run(start).stderr, /@trunkline\/\S+ is installed but failed to load: is torn/);
  });
});

/** The files that npm would pack. */
function packedFiles(folder) {
  const listed = execFileSync("npm", ["pack", "--dry-run", "--json", "--offline"], { cwd: folder, encoding: "utf8", shell: process.platform === "win32", stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(listed)[0].files.map(({ path }) => path);
}

test("the packed files include the licenses and a README", () => {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-"));
  try {
    const [platform] = platforms;
    mkdirSync(join(folder, "scripts"));
    for (const name of ["scripts/platform-package.mjs", "package.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(home, name), join(folder, name));
    const notices = "LICENSE-THIRD-PARTY";
    writeFileSync(join(folder, notices), "of the crates");
    execFileSync(process.execPath, [join(folder, "scripts/platform-package.mjs"), platform, join(home, "package.json")]);
    assert.ok(packedFiles(join(folder, "npm", platform)).includes(notices));
    assert.ok(!packedFiles(folder).includes(notices), "the main package has no library");
    for (const packed of [folder, join(folder, "npm", platform)]) {
      const files = packedFiles(packed);
      for (const name of ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json"]) assert.ok(files.includes(name), `${packed}: ${files}`);
    }
    // Neither sources and tests nor maps, which would lead to them.
    for (const packed of [home, join(folder, "npm", platform)]) {
      assert.deepEqual(packedFiles(packed).filter((name) => !/^(dist\/.*\.(js|mjs|d\.ts|d\.mts)|dist\/esm\/package\.json|index\.js|[^/]+\.node|package\.json|README\.md|LICENSE-[A-Z-]+)$/.test(name)), []);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("there is a library for every platform that the package names", () => {
  const jobs = readFileSync(new URL("../../.github/workflows/packages.yml", import.meta.url), "utf8");
  const built = new Set([...jobs.matchAll(/\bplatform: ([a-z0-9-]+)/g)].map(([, platform]) => platform));
  assert.deepEqual([...built].sort(), platforms.toSorted());
});

test("a platform package is found, without a report of the process", () => {
  withCopy((folder, run) => {
    mkdirSync(join(folder, "tree/scripts"), { recursive: true });
    copyFileSync(join(home, "scripts/platform-package.mjs"), join(folder, "tree/scripts/platform-package.mjs"));
    for (const name of ["package.json", "LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(home, name), join(folder, "tree", name));
    for (const platform of ours) {
      execFileSync(process.execPath, [join(folder, "tree/scripts/platform-package.mjs"), platform, library]);
      mkdirSync(join(folder, "node_modules/@trunkline"), { recursive: true });
      renameSync(join(folder, "tree/npm", platform), join(folder, "node_modules/@trunkline", platform));
    }
    const found = run(`Object.defineProperty(process, "report", { value: {} }); ${start} console.log("found")`);
    assert.equal(found.stdout, "found\n", found.stderr);
  });
});

test("every public name is documented, and every method that can reject documents its errors", () => {
  const file = join(home, "dist/index.d.ts");
  const checker = ts.createProgram([file], { skipLibCheck: true, module: ts.ModuleKind.NodeNext, types: [] });
  const types = checker.getTypeChecker();
  const source = checker.getSourceFile(file);
  const [withoutText, withoutThrows] = [[], []];
  let names = 0;
  const look = (symbol, name) => {
    names++;
    if (symbol.getDocumentationComment(types).length === 0) withoutText.push(name);
  };
  const exported = types.getExportsOfModule(types.getSymbolAtLocation(source));
  for (const alias of exported) {
    const symbol = alias.flags & ts.SymbolFlags.Alias ? types.getAliasedSymbol(alias) : alias;
    look(symbol, alias.name);
    if (!(symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))) continue;
    const statics = symbol.flags & ts.SymbolFlags.Class ? types.getPropertiesOfType(types.getTypeOfSymbol(symbol)) : [];
    for (const member of [...types.getPropertiesOfType(types.getDeclaredTypeOfSymbol(symbol)), ...statics]) {
      const [declaration] = member.declarations ?? [];
      if (!declaration?.getSourceFile().fileName.startsWith(join(home, "dist")) || /^(#|__|prototype$)/.test(member.name)) continue;
      if (ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) continue;
      const name = `${alias.name}.${member.name}`;
      look(member, name);
      // The methods of an interface are the program's own.
      if (!ts.isMethodDeclaration(declaration) || !/Promise</.test(declaration.type?.getText() ?? "")) continue;
      if (!member.getJsDocTags().some((tag) => tag.name === "throws")) withoutThrows.push(name);
    }
  }
  assert.ok(names > 700, `${names} names`);
  assert.deepEqual({ withoutText, withoutThrows }, { withoutText: [], withoutThrows: ["Subscription.return"] });
});

test("the declarations need no package but the types of Node.js", () => {
  const file = join(home, "dist/index.d.ts");
  const files = ts.createProgram([file], { module: ts.ModuleKind.NodeNext, types: [] }).getSourceFiles().map(({ fileName }) => fileName);
  const packages = files.flatMap((name) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1] ?? []);
  assert.deepEqual([...new Set(packages)].sort(), ["@types/node", "typescript", "undici-types"]);
});

const program = `
  import { Client, Server } from "trunkline";
  async function main() {
    const server = new Server({ name: "a", version: "1" });
    server.registerTool("hello", {}, () => "Hello from a bundle");
    const client = await Client.connect(server);
    console.log((await client.callTool("hello")).content[0].text);
  }
  void main();`;

// Other bundlers and runtimes: tests/npm.
for (const format of ["esm", "cjs"]) {
  test(`esbuild bundles the package for ${format}, and the library is found next to the bundle`, () => {
    withCopy((folder) => {
      const bundle = join(folder, format === "esm" ? "server.mjs" : "server.cjs");
      const built = buildSync({ stdin: { contents: program, resolveDir: folder }, bundle: true, platform: "node", format, outfile: bundle, metafile: true, logLevel: "silent" });
      assert.deepEqual(built.warnings, []);
      const [{ imports }] = Object.values(built.metafile.outputs);
      assert.deepEqual(imports.filter(({ path }) => !path.startsWith("node:")), [], "nothing but Node.js itself is left out");
      const run = () => spawnSync(process.execPath, [bundle], { cwd: folder, env: { ...process.env, TRUNKLINE_NATIVE: "" }, encoding: "utf8" });
      const beside = /copy its file to (.+\.node), or set/.exec(run().stderr)?.[1];
      assert.equal(dirname(beside), realpathSync(folder));
      copyFileSync(library, beside);
      const found = run();
      assert.equal(found.stdout, "Hello from a bundle\n", found.stderr);
    });
  });
}

test("other copies of the package recognize a class that is all that a bundle has of it", () => {
  withCopy((folder, run) => {
    for (const name of ["InputRequired", "ProtocolError", "StoreError", "TokenError", "ToolError"]) {
      buildSync({ stdin: { contents: `export { ${name} } from "trunkline";`, resolveDir: folder }, bundle: true, platform: "node", format: "cjs", outfile: join(folder, "plugin.cjs"), logLevel: "silent" });
      const { stdout, stderr } = run(`console.log(require("./plugin.cjs").${name}.prototype[Symbol.for("trunkline.class")])`);
      assert.equal(stdout, `${name}\n`, stderr);
    }
  });
});

for (const name of ["node", "bun", "deno"]) {
  test(`only Node reads pipes on its event loop: ${name}`, () => {
    const script = `
      if (${JSON.stringify(name)} !== "node") Object.defineProperty(process, "versions", { value: { ...process.versions, [${JSON.stringify(name)}]: "1.0.0" } });
      const { Client, Server } = require("trunkline");
      const { dlopen } = process;
      process.dlopen = (module, ...rest) => {
        dlopen(module, ...rest);
        const { prototype } = module.exports.Port;
        const { open } = prototype;
        prototype.open = function (json) {
          console.log(JSON.parse(json).hostDrivenReads);
          return open.call(this, json);
        };
      };
      const server = new Server({ name: "a", version: "1" });
      Client.connect(server).then((client) => client.close());`;
    const run = spawnSync(process.execPath, ["-e", script], { cwd: home, encoding: "utf8" });
    assert.equal(run.stdout, `${name === "node"}\n`, run.stderr);
  });
}
