// Lets the programs of this source tree (fixtures, benches, examples) write `import … from "trunkline"`: a link node_modules/trunkline at its root.
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const root = dirname(here);
const link = join(root, "node_modules", "trunkline");
if (existsSync(join(root, "Cargo.toml")) && !existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true });
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link);
  // A junction needs no special rights on Windows; elsewhere the word is ignored.
  symlinkSync(process.platform === "win32" ? here : join("..", "bindings-node"), link, "junction");
}
