// The program under test, and the servers that it inspects.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { startLoginServer } from "./login_server.mjs";

const START_MS = 30_000;
const END_MS = 10_000;
/** Servers over HTTP that ask for a login. */
const LOGINS = ["login", "consent"];

const file = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The command of a server: one of these, or a kind of `odd_server.mjs`. */
function commandOf(server, fixture) {
  if (server === "fixture") return [fixture, "--stdio"];
  if (server === "everything") return [process.execPath, file("node_modules/@modelcontextprotocol/server-everything/dist/index.js")];
  if (server === "app of others") return [process.execPath, file("node_modules/@modelcontextprotocol/server-basic-vanillajs/dist/index.js"), "--stdio"];
  if (server === "apps") return [process.execPath, file("app_server.mjs")];
  if (server === "missing") return [file("no-such-program")];
  return [process.execPath, file("odd_server.mjs"), server];
}

/** A configuration file with several servers. */
function severalOf(folder, fixture) {
  const config = join(folder, "mcp.json");
  const entry = (server) => {
    const [command, ...args] = commandOf(server, fixture);
    return { command, args };
  };
  writeFileSync(config, JSON.stringify({ mcpServers: { fixture: entry("fixture"), bare: entry("bare"), missing: entry("missing") } }));
  return ["--config", config];
}

/** A running `trunkline inspect` of a server or of what the words name, and its page's URL. */
export async function inspect(program, server, fixture) {
  const login = LOGINS.includes(server) ? await startLoginServer({ refuses: server === "login" }) : null;
  const folder = mkdtempSync(join(tmpdir(), "inspect-"));
  const remote = Array.isArray(server) ? server : login ? [login.url] : null;
  const words = remote ? ["--store", folder, ...remote] : server === "several" ? severalOf(folder, fixture) : ["--", ...commandOf(server, fixture)];
  const child = spawn(program, ["inspect", "--no-open", ...words], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  const lines = createInterface({ input: child.stdout });
  const url = await Promise.race([
    once(lines, "line").then(([line]) => line),
    once(child, "exit").then(([status]) => Promise.reject(new Error(`inspect ended with ${status}: ${said}`))),
    new Promise((_, reject) => setTimeout(reject, START_MS, new Error("inspect prints no URL")).unref()),
  ]);
  const stop = async () => {
    login?.stop();
    rmSync(folder, { recursive: true, force: true });
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGINT");
    const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(timer);
  };
  return { url, stop };
}
