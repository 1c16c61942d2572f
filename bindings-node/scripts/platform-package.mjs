// Makes the package that carries the native library of one platform: npm/<platform>. Run for each
// platform with the library that was built for it:
//   node scripts/platform-package.mjs linux-x64-gnu ../target/release/libtrunkline_node.so
// With --publishable as the last argument, package.json of the main package is given the optional
// dependencies for all platforms.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const manifestFile = join(here, "package.json");
const manifest = JSON.parse(readFileSync(manifestFile, "utf8"));
const platforms = manifest.platforms;
// The licences of the crates are there when a release is built.
const licences = readdirSync(here).filter((name) => name.startsWith("LICENSE-"));
const [platform, library, publishable] = process.argv.slice(2);

if (platform === "--publishable" || publishable === "--publishable") {
  manifest.optionalDependencies = Object.fromEntries(platforms.map((name) => [`@trunkline/${name}`, manifest.version]));
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
}
if (platform !== "--publishable") {
  if (!platforms.includes(platform) || library === undefined) {
    console.error(`usage: platform-package.mjs PLATFORM LIBRARY\nPLATFORM is one of ${platforms.join(", ")}`);
    process.exit(2);
  }
  const [os, cpu, abi] = platform.split("-");
  const folder = join(here, "npm", platform);
  const main = `trunkline.${platform}.node`;
  mkdirSync(folder, { recursive: true });
  copyFileSync(library, join(folder, main));
  for (const licence of licences) copyFileSync(join(here, licence), join(folder, licence));
  const { version, license, repository, engines } = manifest;
  const name = `@trunkline/${platform}`;
  const description = `The native library of trunkline for ${platform}`;
  const about = {
    name,
    version,
    description,
    license,
    repository,
    engines,
    os: [os],
    cpu: [cpu],
    ...(os === "linux" ? { libc: [abi === "musl" ? "musl" : "glibc"] } : {}),
    main,
    files: [main, ...licences],
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(about, null, 2)}\n`);
  writeFileSync(join(folder, "README.md"), `# ${name}\n\n${description}: install that one, which brings this along where it is needed.\n`);
  console.log(folder);
}
