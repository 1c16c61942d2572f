// A client that knows nothing of this package: raw JSON-RPC lines to a child process, on any
// revision.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const handshakeRevisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
export const modern = "2026-07-28";
export const revisions = [...handshakeRevisions, modern];

const timeoutMs = 60_000;

export class Peer {
  /** Everything that came without an id. */
  notifications = [];
  /**
   * The methods of the server's requests, in the order in which they came, whether as requests or
   * in rounds.
   */
  asked = [];
  stderr = "";
  #child;
  #nextId = 1;
  #waiting = new Map();
  /** The end of the server, if it has ended. */
  #ended;
  #watchers = new Set();

  /**
   * Starts `program` (a file beside this one) and shakes hands. `answers`: what is answered to
   * requests of the server, by method: a function of params and key. `ahead`: declares also what
   * the revision does not know.
   */
  static async start(program, { revision, capabilities = {}, answers = {}, args = [], meta = {}, env = {}, ahead = false }) {
    const peer = new Peer(program, args, env);
    if (revision < "2025-06-18" && !ahead) capabilities = { ...capabilities, elicitation: undefined };
    Object.assign(peer, { revision, capabilities, answers, meta });
    if (revision !== modern) {
      const { result } = await peer.send("initialize", { protocolVersion: revision, capabilities, clientInfo: { name: "peer", version: "1" } });
      peer.server = result;
      peer.write({ method: "notifications/initialized" });
    }
    return peer;
  }

  constructor(program, args, env) {
    const file = fileURLToPath(new URL(program, import.meta.url));
    this.#child = spawn(process.execPath, [file, ...args], { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    // A write that comes too late says so by the end of the server.
    this.#child.stdin.on("error", () => {});
    this.#child.on("close", (code, signal) => {
      this.#ended = `the server ended with ${signal ?? code}`;
      for (const { reject } of this.#waiting.values()) reject(new Error(`${this.#ended}; stderr: ${this.stderr}`));
      this.#waiting.clear();
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(JSON.parse(line)));
  }

  write(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** One request as it is: its response. */
  async send(method, params = {}, id = this.#nextId++) {
    if (this.revision === modern) {
      const { _meta, ...rest } = params;
      const envelope = { "io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": this.capabilities, "io.modelcontextprotocol/clientInfo": { name: "peer", version: "1" } };
      params = { ...rest, _meta: { ...envelope, ...this.meta, ..._meta } };
    }
    const response = new Promise((resolve, reject) => {
      if (this.#ended) throw new Error(`${method}: ${this.#ended}; stderr: ${this.stderr}`);
      const timer = setTimeout(() => reject(new Error(`no response to ${method}; stderr: ${this.stderr}`)), timeoutMs);
      const over = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      this.#waiting.set(id, { resolve: over(resolve), reject: over(reject) });
    });
    this.write({ id, method, params });
    return response;
  }

  /** A request with as many rounds of input as it takes: its response. */
  async request(method, params = {}) {
    let response = await this.send(method, params);
    while (response.result?.resultType === "input_required") {
      const { inputRequests = {}, requestState } = response.result;
      const inputResponses = {};
      for (const [key, { method, params }] of Object.entries(inputRequests)) {
        this.asked.push(method);
        inputResponses[key] = this.answers[method](params, key);
      }
      response = await this.send(method, { ...params, inputResponses, ...(requestState === undefined ? {} : { requestState }) });
    }
    return response;
  }

  /** The result of a request; an error is thrown. */
  async result(method, params) {
    const { result, error } = await this.request(method, params);
    if (error) throw Object.assign(new Error(`${method}: ${error.message}`), error);
    return result;
  }

  /** The text of a tool's result. */
  async call(name, args = {}) {
    const { content } = await this.result("tools/call", { name, arguments: args });
    return content.map(({ text }) => text).join("");
  }

  /**
   * Fulfilled with the first notification of that method, past or future, that satisfies `test`.
   */
  async notified(method, test = () => true) {
    const find = () => this.notifications.find((notification) => notification.method === method && test(notification.params));
    const end = Date.now() + timeoutMs;
    for (let found = find(); ; found = find()) {
      if (found) return found.params;
      if (Date.now() > end) throw new Error(`no ${method}; there are ${JSON.stringify(this.notifications)}`);
      await new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#watchers.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, 200);
        this.#watchers.add(wake);
      });
    }
  }

  /** Closes stdin and waits for the end; what the process wrote to stderr. */
  async close() {
    const exit = this.#child.exitCode === null ? once(this.#child, "close") : undefined;
    this.#child.stdin.end();
    await exit;
    return this.stderr;
  }

  #take(message) {
    if (message.method === undefined) {
      this.#waiting.get(message.id)?.resolve(message);
      this.#waiting.delete(message.id);
    } else if (message.id === undefined) {
      this.notifications.push(message);
      for (const wake of [...this.#watchers]) wake();
    } else {
      this.asked.push(message.method);
      const answer = this.answers[message.method];
      if (!answer) return this.write({ id: message.id, error: { code: -32601, message: `no ${message.method} here` } });
      this.write({ id: message.id, result: answer(message.params) });
    }
  }
}
