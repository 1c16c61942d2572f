// Our clients log in at authorization servers of others: those of SDKs and frameworks, and
// imitations of providers (../../authorization-servers.json).
//
// logins.mjs [--only WORD] --client PROGRAM ARGUMENT... [--client PROGRAM ARGUMENT...]...
//   [--server NAME PROGRAM ARGUMENT...]...
// A client logs in as login_client.mjs does. A server gets a port, and perhaps the endpoints of
// another authorization server; it prints `listening URL` once it accepts connections.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

import { Server } from "trunkline";

import { freePort } from "./free_port.mjs";
import { checkRow, imitate } from "./imitation.mjs";
import { DeadEnd, visit } from "./visit.mjs";

const user = "ada";
/** A login includes the calls after it. */
const loginTimeoutMs = 60_000;
/** The start of a server may take this long. */
const startTimeoutMs = 120_000;
/** Of the calls after a login, each renews a token that is about to expire. */
const calls = 2;

const { clients: clientCommands, servers, only } = programs(process.argv.slice(2));
let failed = 0;

/** A login client, which runs until the end. */
class LoginClient {
  constructor([program, ...file]) {
    this.name = basename(file.at(-1) ?? program);
    this.child = spawn(program, file, { stdio: ["pipe", "pipe", "inherit"] });
    // A client that has exited is reported where its line is missing.
    this.child.stdin.on("error", () => {});
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** Logs in, and returns the result, with the number of login pages that the user has visited. */
  async logIn(login) {
    let [isLate, visits] = [false, 0];
    const over = setTimeout(loginTimeoutMs, undefined, { ref: false }).then(() => (isLate = true));
    this.#write(login);
    for (;;) {
      const line = await Promise.race([this.lines.next(), over]);
      if (isLate) throw new Error(`no result within ${loginTimeoutMs} ms`);
      if (line.done) throw new Error("the client has exited");
      const { open, ...result } = JSON.parse(line.value);
      if (!open) return { ...result, visits };
      ++visits;
      this.#write(await this.#visit(open));
    }
  }

  /** Visits a login page and the redirect of the client. */
  async #visit(url) {
    try {
      await fetch(await visit(url, user), { signal: AbortSignal.timeout(loginTimeoutMs) });
      return {};
    } catch (error) {
      if (error instanceof DeadEnd) return { failed: error.message };
      return { failed: `the browser failed: ${error.stack}` };
    }
  }

  #write(line) {
    this.child.stdin.write(`${JSON.stringify(line)}\n`);
  }

  async close() {
    const ended = new Promise((resolve) => this.child.once("close", resolve));
    if (this.child.exitCode !== null) return;
    this.child.stdin.end();
    const over = setTimeout(5000, undefined, { ref: false }).then(() => this.child.kill("SIGKILL"));
    await Promise.race([ended, over]);
  }
}

/** Starts a server on a port, and returns its URL and a function that ends it. */
async function start([program, ...file], port, endpoints) {
  const more = endpoints ? [endpoints.authorization, endpoints.token] : [];
  const child = spawn(program, [...file, String(port), ...more], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const close = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const lines = createInterface({ input: child.stdout });
  const listening = new Promise((resolve) => lines.on("line", (line) => line.startsWith("listening ") && resolve(line.slice(10))));
  const over = setTimeout(startTimeoutMs, undefined, { ref: false });
  const url = await Promise.race([listening, ended.then(() => undefined), over]);
  if (url) return { url, close };
  await close();
  throw new Error(`${file.join(" ")} did not start`);
}

/** Why the result of a login is not the expected one. */
function faultOf(expected, result, seen) {
  const got = JSON.stringify(result);
  if (expected.error) {
    const missing = expected.error.filter((part) => !result.message?.includes(part));
    return missing.length > 0 ? `the error does not say ${missing.join(", ")}: ${got}` : undefined;
  }
  if (result.texts?.length !== calls || result.texts.some((text) => text !== "called")) return got;
  if (!seen) return undefined;
  for (const what of ["logins", "registrations"]) if (expected[what] !== undefined && seen[what] !== expected[what]) return `${seen[what]} ${what}`;
  if (Boolean(expected.refreshes) !== seen.refreshes > 0) return `${seen.refreshes} refreshes`;
  return undefined;
}

/** A login at an imitation, with the options of a try. */
async function tryRow(client, row, given, mcp) {
  const world = await imitate(row, mcp, await freePort());
  try {
    const expected = world.fill(given);
    const result = await client.logIn({ url: world.url, auth: expected.auth, tool: "call", calls });
    return faultOf(expected, result, world.seen);
  } finally {
    world.close();
  }
}

/**
 * A login at the server of an SDK, a second one with its stored tokens, and one after the server
 * has forgotten the client: the user sees an error page, and then the client registers again.
 */
async function tryServer(client, command, mcp) {
  const store = mkdtempSync(join(tmpdir(), "trunkline-logins-"));
  const upstream = await imitate(rows.find(({ isUpstream }) => isUpstream), mcp, 0);
  const port = await freePort();
  let server;
  try {
    server = await start(command, port, upstream.endpoints);
    const login = { url: server.url, auth: { store, clientName: "logins" }, tool: "call", calls };
    for (const visits of [1, 0]) {
      const result = await client.logIn(login);
      const fault = faultOf({}, result) ?? (result.visits !== visits ? `${result.visits} visits instead of ${visits}` : undefined);
      if (fault) return fault;
    }
    await server.close();
    server = await start(command, port, upstream.endpoints);
    const results = [];
    for (let time = 0; time < 2; ++time) {
      results.push(await client.logIn(login));
      if (!results.at(-1).error) break;
    }
    const isBack = !faultOf({}, results.at(-1)) && results.at(-1).visits === 1;
    return isBack ? undefined : `after a restart: ${JSON.stringify(results)}`;
  } finally {
    await server?.close();
    upstream.close();
    rmSync(store, { recursive: true });
  }
}

/** The programs on the command line, by kind. */
function programs(words) {
  const found = { clients: [], servers: [], only: undefined };
  let current;
  for (let at = 0; at < words.length; ++at) {
    if (words[at] === "--only") found.only = words[++at];
    else if (words[at] === "--client") found.clients.push((current = []));
    else if (words[at] === "--server") found.servers.push({ name: words[++at], command: (current = []) });
    else current.push(words[at]);
  }
  return found;
}

async function report(name, play) {
  if (only && !name.includes(only)) return;
  const fault = await play().catch((error) => error.stack);
  if (fault) ++failed;
  console.log(`${fault ? "not ok" : "ok"} ${name}${fault ? `: ${fault}` : ""}`);
}

const rows = JSON.parse(readFileSync(new URL("../../authorization-servers.json", import.meta.url), "utf8"));
rows.forEach(checkRow);
const protectedServer = new Server({ name: "protected", version: "1.0.0" });
protectedServer.registerTool("call", {}, () => "called");
const listener = await protectedServer.listen({ port: 0 });
const { origin: mcp } = new URL(String(listener.url));
const clients = clientCommands.map((command) => new LoginClient(command));
for (const client of clients) {
  for (const row of rows) {
    for (const [at, given] of row.tries.entries()) await report(`${client.name} ${row.name} ${at + 1}`, () => tryRow(client, row, given, mcp));
  }
  for (const { name, command } of servers) await report(`${client.name} ${name}`, () => tryServer(client, command, mcp));
}
for (const client of clients) await client.close();
await listener.close();
process.exitCode = failed === 0 ? 0 : 1;
