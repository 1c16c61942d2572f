// Ends the build. dist/esm has the ES modules that bundlers take (the condition `module` of
// package.json). Node.js itself loads them as one CommonJS file either way, because one file loads
// faster than many, and so that a program has one set of classes.
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const dist = resolve(dirname(fileURLToPath(import.meta.url)), "../dist");
const whole = join(dist, "trunkline.js");
renameSync(join(dist, "native/place.mjs"), join(dist, "esm/native/place.js"));
for (const unused of ["native/place.d.mts", "esm/native/place.mjs"]) rmSync(join(dist, unused), { force: true });
writeFileSync(join(dist, "esm/package.json"), '{ "type": "module" }\n');

for (const file of readdirSync(dist, { recursive: true })) {
  if (file.endsWith(".js") && !file.startsWith("esm") && file !== join("native", "place.js")) rmSync(join(dist, file));
}
/** Leaves out place.js, which differs between the two. */
const place = { name: "place", setup: ({ onResolve }) => onResolve({ filter: /\/place\.js$/ }, () => ({ path: "./native/place.js", external: true })) };
const bundle = await build({ entryPoints: [join(dist, "esm/index.js")], outfile: whole, write: false, bundle: true, platform: "node", target: "node20", format: "cjs", plugins: [place], logLevel: "warning" });
const [{ text }] = bundle.outputFiles;
// esbuild gives a class that refers to itself another name, such as `_Server`, which stack traces
// show. Its option `keepNames` doesn't change them, and takes time whenever a function is created.
const renamed = [...text.matchAll(/^var (\w+) = class _\1\b/gm)].map(([, name]) => name);
writeFileSync(whole, text.replaceAll(/\b_(\w+)\b/g, (found, name) => (renamed.includes(name) ? name : found)));

// To import a CommonJS file, Node.js first searches it for names, which takes longer than loading
// it. In this one they are found at once.
const names = Object.keys(createRequire(import.meta.url)(whole));
const lines = ['"use strict";', 'Object.defineProperty(exports, "__esModule", { value: true });', 'const whole = require("./trunkline.js");', ...names.map((name) => `exports.${name} = whole.${name};`)];
writeFileSync(join(dist, "index.js"), `${lines.join("\n")}\n`);
