// The place of this code, and of the libraries of the platforms beside it. The bundles that
// bundlers make of ES modules have place.mts instead.
import { basename, dirname } from "node:path";

/** The file of this code, or of the bundle that contains it. */
export const place = file();

/** The folder with all code of this package; undefined in a bundle, which has the program too. */
export const home = basename(place) === "place.js" ? dirname(dirname(place)) : undefined;

/**
 * The library in the package of a platform; undefined if there is none. Each name is literal, so
 * that tracers of deployments and bundlers find the library, and inside of `try`, so that Bun
 * leaves out those of other platforms.
 */
export function library(platform: string): unknown {
  /* eslint-disable @typescript-eslint/no-require-imports -- an import would load the libraries of all platforms */
  try {
    switch (platform) {
      case "darwin-arm64":
        return require("@trunkline/darwin-arm64");
      case "darwin-x64":
        return require("@trunkline/darwin-x64");
      case "linux-arm64-gnu":
        return require("@trunkline/linux-arm64-gnu");
      case "linux-arm64-musl":
        return require("@trunkline/linux-arm64-musl");
      case "linux-x64-gnu":
        return require("@trunkline/linux-x64-gnu");
      case "linux-x64-musl":
        return require("@trunkline/linux-x64-musl");
      case "win32-arm64-msvc":
        return require("@trunkline/win32-arm64-msvc");
      case "win32-x64-msvc":
        return require("@trunkline/win32-x64-msvc");
      default:
        return undefined;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "MODULE_NOT_FOUND") throw error;
    return undefined;
  }
  /* eslint-enable */
}

function file(): string {
  try {
    return __filename;
  } catch {
    // Ncc makes ES modules of this code and leaves the name, which they do not have.
    return process.argv[1] ?? "";
  }
}
