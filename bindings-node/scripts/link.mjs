// Lets the programs of this source tree (fixtures, benches, examples) write `import … from
// "trunkline"`, and the examples use the frameworks that the tests have: links in node_modules/ at
// its root.
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const root = dirname(here);
const targets = { trunkline: here };
for (const name of ["ai", "express", "hono", "@hono/node-server", "@opentelemetry", "zod"]) targets[name] = join(here, "node_modules", name);

for (const [name, target] of Object.entries(targets)) {
  const link = join(root, "node_modules", name);
  if (!existsSync(join(root, "Cargo.toml")) || !existsSync(target) || existsSync(link)) continue;
  mkdirSync(dirname(link), { recursive: true });
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link);
  // A junction needs no special rights on Windows; elsewhere the word is ignored.
  symlinkSync(process.platform === "win32" ? target : relative(dirname(link), target), link, "junction");
}
