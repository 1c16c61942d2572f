// The same as place.ts for bundles of ES modules, which have no `require` of their own. Bundlers
// leave the library where it is: it is found when the bundle runs.
import { existsSync } from "node:fs";
// Webpack replaces calls of a `createRequire` that is imported by its name.
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
    // There is one in bundles of CommonJS, where `import.meta` is empty.
    return __filename;
  } catch {
    // Webpack writes the place of this module at the time of the build.
    const file = fileURLToPath(import.meta.url);
    return existsSync(file) ? file : (process.argv[1] ?? file);
  }
}
