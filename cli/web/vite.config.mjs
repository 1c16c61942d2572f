import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Where the header of gzip names the operating system: two builds are equal on all of them. */
const SYSTEM_AT = 9;
const SYSTEM_UNKNOWN = 255;

/**
 * Compresses each built file, as the program embeds and sends it. Every browser reads gzip: a
 * second copy in brotli would save 51 KB of a transfer within this machine, and take 308 KB of the
 * program.
 */
function compressed() {
  let folder;
  return {
    name: "compressed",
    apply: "build",
    configResolved({ root, build }) {
      folder = resolve(root, build.outDir);
    },
    closeBundle() {
      const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
      for (const file of files.filter((file) => statSync(file).isFile())) {
        const content = readFileSync(file);
        const small = gzipSync(content, { level: 9 });
        small[SYSTEM_AT] = SYSTEM_UNKNOWN;
        writeFileSync(`${file}.gz`, small);
        rmSync(file);
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  build: {
    target: "es2023",
    // A `data:` font or script would need a wider CSP.
    assetsInlineLimit: 0,
    // The polyfill is an inline script in some browsers.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
});
