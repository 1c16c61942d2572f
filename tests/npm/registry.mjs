// An npm registry that serves the packages of some tarballs, as users get them. It also lists their
// optional dependencies that are not among the tarballs (the libraries of other platforms) but has
// no files for them: npm must skip them. As a program, it runs a command that installs from it:
// node registry.mjs TARBALL... -- COMMAND...
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

/** Serves the tarballs. Returns the URL and a function that stops it. */
export async function serve(tarballs) {
  const files = new Map();
  const packages = new Map();
  const add = (manifest, bytes) => {
    const file = `/files/${manifest.name.replace("/", "-")}-${manifest.version}.tgz`;
    files.set(file, bytes);
    packages.set(`/${manifest.name}`, { manifest, file, integrity: `sha512-${createHash("sha512").update(bytes ?? "").digest("base64")}` });
  };
  for (const tarball of tarballs) {
    const manifest = execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" });
    add(JSON.parse(manifest), readFileSync(tarball));
  }
  for (const { manifest } of [...packages.values()]) {
    for (const [name, version] of Object.entries(manifest.optionalDependencies ?? {})) {
      if (packages.has(`/${name}`)) continue;
      const [, os, cpu, abi] = /(darwin|linux|win32)-([^-]+)(?:-([^-]+))?$/.exec(name);
      // The program is static on Linux, so that its packages have no ABI.
      add({ name, version, os: [os], cpu: [cpu], ...(os === "linux" && abi ? { libc: [abi === "musl" ? "musl" : "glibc"] } : {}) });
    }
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url);
    const found = packages.get(path);
    if (found) {
      const { manifest, file, integrity } = found;
      const version = { ...manifest, dist: { tarball: `http://${request.headers.host}${file}`, integrity } };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ name: manifest.name, "dist-tags": { latest: manifest.version }, versions: { [manifest.version]: version } }));
    } else if (files.get(path)) response.end(files.get(path));
    else response.writeHead(404).end("{}");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const end = process.argv.indexOf("--");
  const registry = await serve(process.argv.slice(2, end));
  const [command, ...words] = process.argv.slice(end + 1);
  const child = spawn(command, words, { stdio: "inherit", shell: process.platform === "win32", env: { ...process.env, npm_config_registry: registry.url } });
  child.on("exit", (code) => {
    registry.close();
    process.exitCode = code ?? 1;
  });
}
