// Tests the npm package as users get it: packed, installed from a registry, linted, bundled,
// traced, moved away from its `node_modules`, and in other runtimes.
//   node try.mjs FOLDER LIBRARY [WORD...]
// Everything is created in FOLDER, with the built library; words select trials by name.
import { spawn } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

import { freePort } from "../peers/node/free_port.mjs";
import { pack } from "./pack.mjs";
import { serve } from "./registry.mjs";

const [given, library, ...words] = process.argv.slice(2);
const folder = resolve(given);
const here = dirname(fileURLToPath(import.meta.url));
const project = join(folder, "project");
/** Each command may take this long. */
const timeoutMs = 300_000;
const environment = { ...process.env, TRUNKLINE_NATIVE: "", NEXT_TELEMETRY_DISABLED: "1", npm_config_update_notifier: "false" };

/** Runs a command to completion. Returns its output, or throws an error with it. */
async function run(cwd, [command, ...options], env = {}) {
  const child = spawn(command, options, { cwd, env: { ...environment, ...env }, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [code, signal] = await new Promise((ended, failed) => child.on("error", failed).on("close", (...end) => ended(end)));
  if (code !== 0) throw new Error(`${[command, ...options].join(" ")} ended with ${code ?? signal}:\n${output}`);
  return output;
}

const node = (file, ...options) => [process.execPath, file, ...options];
const tool = (name) => join(project, "node_modules/.bin", name);
/** A tool of the project, as a module. */
const load = async (name) => import(pathToFileURL(createRequire(join(project, "package.json")).resolve(name)));

/** Runs a program that must print a greeting, once or once per entry point. */
async function greets(greeting, cwd, command, times = 1) {
  const output = await run(cwd, command);
  const found = output.split("\n").filter((line) => line === greeting).length;
  if (found !== times) throw new Error(`${command.join(" ")} greeted ${found} times instead of ${times}:\n${output}`);
}

const bundleGreets = (cwd, command) => greets("Hello from a bundle", cwd, command);

/** A folder elsewhere, without `node_modules` above it. */
const elsewhere = () => realpathSync(mkdtempSync(join(tmpdir(), "trunkline-npm-")));

/** Copies files of the project elsewhere and passes the folder to the callback. */
async function moved(from, work) {
  const to = elsewhere();
  try {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    await work(to);
  } finally {
    rmSync(to, { recursive: true, force: true });
  }
}

/** A bundle without the library runs in the project, and elsewhere next to the library. */
async function needsLibrary(bundle, folder = dirname(bundle)) {
  await bundleGreets(project, node(bundle));
  await moved(folder, async (to) => {
    const elsewhere = join(to, bundle.slice(folder.length + 1));
    // Webpack writes the path of the package into its bundles, where the library is found as long
    // as it exists.
    const packages = join(project, "node_modules/@trunkline");
    const refusal = await without(packages, () => run(to, node(elsewhere)).then(() => "", (error) => String(error)));
    if (!/copy its file to .*\.node, or set/.test(refusal)) throw new Error(`a missing library is not explained:\n${refusal}`);
    copyFileSync(libraryFile(), join(to, libraryFile().split(/[\\/]/).pop()));
    await without(packages, () => bundleGreets(to, node(elsewhere)));
  });
}

/** Runs something while a folder is missing. */
async function without(folder, work) {
  const aside = `${folder}-aside`;
  cpSync(folder, aside, { recursive: true });
  rmSync(folder, { recursive: true });
  try {
    return await work();
  } finally {
    cpSync(aside, folder, { recursive: true });
    rmSync(aside, { recursive: true });
  }
}

function libraryFile() {
  const packages = join(project, "node_modules/@trunkline");
  const [platform] = readdirSync(packages);
  return join(packages, platform, `trunkline.${platform}.node`);
}

async function webpack(output, options) {
  const { default: build } = await load("webpack");
  const settings = { mode: "production", target: "node", context: project, entry: "./program.mjs", output: { path: join(project, "out", output), ...options.output }, experiments: options.experiments };
  const stats = await new Promise((done, failed) => build(settings, (error, stats) => (error ? failed(error) : done(stats))));
  if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString({ all: false, errors: true, warnings: true }));
}

async function vite(output, ssr) {
  const { build } = await load("vite");
  await build({ root: project, configFile: false, logLevel: "error", ssr, build: { ssr: "program.mjs", outDir: `out/${output}`, emptyOutDir: true } });
  writeFileSync(join(project, "out", output, "package.json"), '{ "type": "module" }');
}

/** The server of the standalone output of Next.js, moved, called at its route. */
async function nextStandalone() {
  await run(project, node("node_modules/next/dist/bin/next", "build"));
  await moved(join(project, ".next/standalone"), async (to) => {
    const port = await freePort();
    const child = spawn(process.execPath, ["server.js"], { cwd: to, env: { ...environment, PORT: String(port), HOSTNAME: "127.0.0.1" }, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    try {
      const { Client } = await load("trunkline");
      const greeting = await retried(async () => {
        const client = await Client.connect(`http://127.0.0.1:${port}/mcp`);
        const { content } = await client.callTool("hello");
        await client.close();
        return content[0].text;
      });
      if (greeting !== "Hello from Next.js") throw new Error(`the route answered ${greeting}`);
    } catch (error) {
      throw new Error(`${error}\n${output}`, { cause: error });
    } finally {
      child.kill();
    }
  });
}

async function retried(work) {
  for (let left = 60; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await sleep(500);
    }
  }
}

const trials = {
  "npm installs the package and one library, and it runs": async ({ registry }) => {
    const app = join(folder, "npm");
    installFolder(app);
    await run(app, ["npm", "install", "--no-audit", "--no-fund", "--registry", registry.url, "--cache", join(folder, "npm-cache"), "trunkline"]);
    if (readdirSync(join(app, "node_modules/@trunkline")).length !== 1) throw new Error("more than the library of this platform");
    await bundleGreets(app, node("program.mjs"));
    await bundleGreets(app, node("program.cjs"));
  },
  "npm without optional packages leaves an error that names the package": async ({ registry }) => {
    const app = join(folder, "npm-omit");
    installFolder(app);
    await run(app, ["npm", "install", "--omit=optional", "--no-audit", "--no-fund", "--registry", registry.url, "--cache", join(folder, "npm-cache"), "trunkline"]);
    const refusal = await run(app, node("program.mjs")).then(() => "", String);
    if (!/Run: npm install @trunkline\/\S+@\d/.test(refusal)) throw new Error(refusal);
  },
  "bun installs the package, and it runs": async ({ registry }) => {
    const app = join(folder, "bun");
    installFolder(app);
    await run(app, [tool("bun"), "add", "--registry", registry.url, "--cache-dir", join(folder, "bun-cache"), "trunkline"]);
    await bundleGreets(app, [tool("bun"), "program.mjs"]);
  },
  publint: async ({ tarballs }) => {
    const output = await run(project, node("node_modules/publint/src/cli.js", "run", tarballs[0], "--strict"));
    if (!output.includes("All good!")) throw new Error(output);
  },
  "are the types wrong": async ({ tarballs }) => {
    await run(project, [tool("attw"), tarballs[0]]);
  },
  "the tracer of Vercel and Next.js": async () => {
    const { nodeFileTrace } = await load("@vercel/nft");
    const { fileList } = await nodeFileTrace([join(project, "program.mjs")], { base: project });
    const to = elsewhere();
    try {
      for (const file of fileList) cpSync(join(project, file), join(to, file));
      await bundleGreets(to, node("program.mjs"));
    } finally {
      rmSync(to, { recursive: true });
    }
  },
  "Next.js, standalone": nextStandalone,
  "esbuild, ES modules": async () => {
    const { build } = await load("esbuild");
    await build({ absWorkingDir: project, entryPoints: ["program.mjs"], bundle: true, platform: "node", format: "esm", outfile: "out/esbuild-esm/program.mjs" });
    await needsLibrary(join(project, "out/esbuild-esm/program.mjs"));
  },
  "esbuild, CommonJS": async () => {
    const { build } = await load("esbuild");
    await build({ absWorkingDir: project, entryPoints: ["program.cjs"], bundle: true, platform: "node", format: "cjs", outfile: "out/esbuild-cjs/program.cjs" });
    await needsLibrary(join(project, "out/esbuild-cjs/program.cjs"));
  },
  "webpack, ES modules": async () => {
    await webpack("webpack-esm", { output: { filename: "program.mjs", module: true }, experiments: { outputModule: true } });
    await bundleGreets(project, node("out/webpack-esm/program.mjs"));
  },
  "webpack, CommonJS": async () => {
    await webpack("webpack-cjs", { output: { filename: "program.cjs" } });
    await needsLibrary(join(project, "out/webpack-cjs/program.cjs"));
  },
  "Vite, external": async () => {
    await vite("vite", {});
    await bundleGreets(project, node("out/vite/program.js"));
  },
  "Vite, bundled": async () => {
    await vite("vite-bundled", { noExternal: true });
    await needsLibrary(join(project, "out/vite-bundled/program.js"));
  },
  "ncc, ES modules": async () => {
    await run(project, node("node_modules/@vercel/ncc/dist/ncc/cli.js", "build", "program.mjs", "-o", "out/ncc-esm"));
    await moved(join(project, "out/ncc-esm"), (to) => bundleGreets(to, node("index.mjs")));
  },
  "ncc, CommonJS": async () => {
    await run(project, node("node_modules/@vercel/ncc/dist/ncc/cli.js", "build", "program.cjs", "-o", "out/ncc-cjs"));
    await moved(join(project, "out/ncc-cjs"), (to) => bundleGreets(to, node(readdirSync(to).find((name) => name.startsWith("index.")))));
  },
  "Bun, one program": async () => {
    await run(project, [tool("bun"), "build", "program.mjs", "--compile", "--outfile", "out/bun-compiled/program"]);
    await moved(join(project, "out/bun-compiled"), (to) => bundleGreets(to, [join(to, "program")]));
  },
  "Bun, a bundle for Node.js": async () => {
    await run(project, [tool("bun"), "build", "program.mjs", "--target=node", "--outdir", "out/bun-node"]);
    writeFileSync(join(project, "out/bun-node/package.json"), '{ "type": "module" }');
    await moved(join(project, "out/bun-node"), (to) => bundleGreets(to, node("program.js")));
  },
  Bun: async () => {
    await greets("Hello from a runtime", project, [tool("bun"), "runtime.mjs"], 2);
  },
  Deno: async () => {
    const allowed = ["--no-prompt", "--allow-ffi", "--allow-read", "--allow-env"];
    await bundleGreets(project, [tool("deno"), "run", ...allowed, "program.mjs"]);
    await greets("Hello from a runtime", project, [tool("deno"), "run", ...allowed, "--allow-net", "runtime.mjs"], 2);
  },
};

/** The folder of a program before any installation. */
function installFolder(app) {
  rmSync(app, { recursive: true, force: true });
  mkdirSync(app, { recursive: true });
  writeFileSync(join(app, "package.json"), "{}");
  for (const name of ["program.mjs", "program.cjs"]) copyFileSync(join(here, "project", name), join(app, name));
}

/** The project with its tools, pinned by the lock file, and the package. */
async function prepare(registry) {
  const lock = readFileSync(join(here, "project/package-lock.json"), "utf8");
  const installed = join(project, "node_modules/.installed");
  cpSync(join(here, "project"), project, { recursive: true });
  if (!existsSync(installed) || readFileSync(installed, "utf8") !== lock) {
    // Not `npm ci`, which refuses a lock file without the optional packages of other systems.
    await run(project, ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]);
    writeFileSync(installed, lock);
  }
  const app = join(folder, "package");
  installFolder(app);
  await run(app, ["npm", "install", "--no-audit", "--no-fund", "--registry", registry.url, "--cache", join(folder, "npm-cache"), "trunkline"]);
  for (const name of ["trunkline", "@trunkline"]) {
    rmSync(join(project, "node_modules", name), { recursive: true, force: true });
    cpSync(join(app, "node_modules", name), join(project, "node_modules", name), { recursive: true });
  }
}

mkdirSync(folder, { recursive: true });
rmSync(join(folder, "npm-cache"), { recursive: true, force: true });
rmSync(join(folder, "bun-cache"), { recursive: true, force: true });
const tarballs = pack(join(folder, "source"), library);
const registry = await serve(tarballs);
try {
  await prepare(registry);
  for (const [name, trial] of Object.entries(trials)) {
    if (words.length > 0 && !words.some((word) => name.includes(word))) continue;
    const start = Date.now();
    try {
      await trial({ registry, tarballs });
      console.log(`ok ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      console.log(`not ok ${name}\n${error.stack}`);
      process.exitCode = 1;
    }
  }
} finally {
  registry.close();
}
