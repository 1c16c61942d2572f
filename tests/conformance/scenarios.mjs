// The command line of a runner, once for each line of stdin, `{"runner", "arguments"}`; each result
// is a line of stdout, `{"status", "said"}`.
//
// A runner process spends most of a second loading modules, and there are hundreds of scenarios.
// Only the runner's own file is reloaded here, so that no scenario inherits state from another.

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
