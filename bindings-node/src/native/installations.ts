// Optional packages.
import modules from "node:module";
import { join } from "node:path";

import { place } from "./place.js";

/** Loads a package as installed next to this one, then as installed in the program's own tree. */
export function* installations(name: string): Generator<object> {
  for (const base of [place, join(process.cwd(), "package.json")]) {
    try {
      yield modules.createRequire(base)(name) as object;
    } catch {
      // Not installed there.
    }
  }
}
