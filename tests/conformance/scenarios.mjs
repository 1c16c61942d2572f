// The command line of a runner, once for each line of stdin, `{"runner", "arguments"}`; each result
// is a line of stdout, `{"status", "said"}`.
//
// A runner process spends most of a second loading modules, and there are hundreds of scenarios.
// Only the runner's own file is reloaded here, so that no scenario inherits state from another. A
// client with the option `--conformance` is started once, too.

import childProcess from "node:child_process";
import { EventEmitter } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";

const answer = process.stdout.write.bind(process.stdout);
let said = "";
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (text) => {
    said += text;
    return true;
  };
}

/** Ends the current run; its first status counts. */
let end = () => undefined;
process.exit = (status) => end(status ?? 0);
const fail = (error) => {
  said += `${error?.stack ?? error}\n`;
  end(1);
};
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

const { spawn } = childProcess;
childProcess.spawn = (command, args, options) =>
  args[0] === "--conformance" ? another(command, args[1], options.env) : spawn(command, args, options);
syncBuiltinESMExports();

/** The started clients by their commands, each with the `run` that it plays. */
const clients = new Map();

/** Plays one more scenario with a started client. Returns what looks like a process of its own. */
function another(command, url, variables) {
  // The answer of a client that is still playing would be taken for that of this scenario.
  const known = clients.get(command);
  known?.run?.kill();
  const client = known === undefined || known.run ? start(command) : known;
  const streams = { stdout: new EventEmitter(), stderr: new EventEmitter() };
  client.run = Object.assign(new EventEmitter(), streams, { kill: () => client.child.kill("SIGKILL") });
  const environment = Object.entries(variables).filter(([name]) => name.startsWith("MCP_CONFORMANCE_"));
  client.child.stdin.write(`${JSON.stringify({ url, environment: Object.fromEntries(environment) })}\n`);
  return client.run;
}

function start(command) {
  const client = { child: spawn(command, ["--conformance"], { stdio: "pipe" }), run: undefined };
  clients.set(command, client);
  const finish = (status, stderr) => {
    const { run } = client;
    client.run = undefined;
    run?.stderr.emit("data", stderr);
    run?.emit("close", status);
  };
  createInterface({ input: client.child.stdout }).on("line", (line) => {
    try {
      const { error } = JSON.parse(line);
      finish(error === null ? 0 : 1, error ?? "");
    } catch {
      client.run?.stderr.emit("data", `the client printed ${line}`);
      client.child.kill("SIGKILL");
    }
  });
  client.child.stderr.on("data", (data) => client.run?.stderr.emit("data", data));
  client.child.stdin.on("error", () => undefined);
  client.child.on("error", (error) => finish(1, error.message));
  client.child.on("close", (status, signal) => {
    if (clients.get(command) === client) clients.delete(command);
    finish(status || 1, `the client ended: ${signal ?? status}`);
  });
  return client;
}

let runs = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  runs += 1;
  said = "";
  process.argv = [process.argv[0], job.runner, ...job.arguments];
  const status = await new Promise((resolve) => {
    end = resolve;
    import(`./node_modules/${job.runner}/dist/index.js?${runs}`).catch(fail);
  });
  answer(`${JSON.stringify({ status, said })}\n`);
}
for (const { child } of clients.values()) child.stdin.end();
