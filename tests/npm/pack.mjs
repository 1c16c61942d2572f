// Packs the npm package, which must be built, and that of a platform with its library, in a copy of
// their files. As a program, it prints the paths of the tarballs, and takes the library of this
// platform, or the name of another one:
// node pack.mjs FOLDER LIBRARY [PLATFORM]
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const source = resolve(dirname(fileURLToPath(import.meta.url)), "../../bindings-node");

/** Replaces the folder. Returns the tarballs in it. */
export function pack(folder, library, platform = thisPlatform()) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "scripts"), { recursive: true });
  cpSync(join(source, "dist"), join(folder, "dist"), { recursive: true });
  // The license texts of the crates are there when a release is built.
  const licenses = readdirSync(source).filter((name) => name.startsWith("LICENSE-"));
  for (const name of ["package.json", "README.md", ...licenses, "scripts/platform-package.mjs"]) copyFileSync(join(source, name), join(folder, name));
  execFileSync(process.execPath, [join(folder, "scripts/platform-package.mjs"), platform, library, "--publishable"], { stdio: "ignore" });
  const options = { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], shell: process.platform === "win32" };
  const packed = execFileSync("npm", ["pack", "--json", "--offline", ".", `./npm/${platform}`], options);
  return JSON.parse(packed).map(({ filename }) => join(folder, filename));
}

function thisPlatform() {
  const name = `${process.platform}-${process.arch}`;
  const libc = process.report.getReport().header.glibcVersionRuntime ? "gnu" : "musl";
  return { linux: `${name}-${libc}`, win32: `${name}-msvc` }[process.platform] ?? name;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, library, platform] = process.argv.slice(2);
  console.log(pack(resolve(folder), resolve(library), platform).join("\n"));
}
