// Locates this code and the platform libraries next to it. Bundles of ES modules use place.mts
// instead.
import { basename, dirname } from "node:path";

/** The file of this code, or of the bundle that contains it. */
export const place = file();

/** The directory of this package's code; undefined in a bundle, which also contains the program. */
export const home = basename(place) === "place.js" ? dirname(dirname(place)) : undefined;

/**
 * Returns the library in a platform's package; undefined if it is not installed. Each name is a
 * literal, so that bundlers and deployment tracers find the library, and inside a `try`, so that
 * Bun leaves out those of other platforms.
 */
export function library(platform: string): unknown {
  /* eslint-disable @typescript-eslint/no-require-imports -- an import would load the libraries of all platforms */
  try {
    if (platform === "darwin-arm64") return require("@trunkline/darwin-arm64");
    if (platform === "darwin-x64") return require("@trunkline/darwin-x64");
    if (platform === "linux-arm64-gnu") return require("@trunkline/linux-arm64-gnu");
    if (platform === "linux-arm64-musl") return require("@trunkline/linux-arm64-musl");
    if (platform === "linux-x64-gnu") return require("@trunkline/linux-x64-gnu");
    if (platform === "linux-x64-musl") return require("@trunkline/linux-x64-musl");
    if (platform === "win32-arm64-msvc") return require("@trunkline/win32-arm64-msvc");
    if (platform === "win32-x64-msvc") return require("@trunkline/win32-x64-msvc");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
  }
  /* eslint-enable */
  return undefined;
}

function file(): string {
  try {
    return __filename;
  } catch {
    // Ncc converts this code to ES modules but keeps the name, which they don't have.
    return process.argv[1] ?? "";
  }
}
