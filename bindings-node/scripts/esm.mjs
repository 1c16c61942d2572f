// Ends the build of dist/esm, the ES modules that bundlers take (the condition `module` of
// package.json). Node.js itself loads the CommonJS modules either way, so that a program has one
// set of classes.
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const dist = resolve(dirname(fileURLToPath(import.meta.url)), "../dist");
renameSync(join(dist, "native/place.mjs"), join(dist, "esm/native/place.js"));
for (const unused of ["native/place.d.mts", "esm/native/place.mjs"]) rmSync(join(dist, unused), { force: true });
writeFileSync(join(dist, "esm/package.json"), '{ "type": "module" }\n');
