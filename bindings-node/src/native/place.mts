// Replaces place.ts in bundles of ES modules, which have no `require`. Bundlers leave the library
// where it is; it is located when the bundle runs.
import { existsSync } from "node:fs";
// Webpack replaces calls of a `createRequire` that is imported by name.
import modules from "node:module";
import { fileURLToPath } from "node:url";

/** The file of the bundle. */
export const place = bundle();

export const home: string | undefined = undefined;

const require = modules.createRequire(place);

export function library(platform: string): unknown {
  try {
    return require(`@trunkline/${platform}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}

function bundle(): string {
  try {
    // In CommonJS bundles it exists, and `import.meta` is empty.
    return __filename;
  } catch {
    // Webpack inserts the location of this module at build time.
    const file = fileURLToPath(import.meta.url);
    return existsSync(file) ? file : (process.argv[1] ?? file);
  }
}
