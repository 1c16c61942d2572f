// Runs the compiled snippets of the pages in one process: node run.mjs FOLDER NAME... Prints a line
// of JSON with the output of each.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Modules that prepare a program. */
const before = { in_ai_sdk: "./ai_model.mjs" };

const [folder, ...names] = process.argv.slice(2);
// Keeps the event loop alive, as in a larger program: a client in memory keeps it alive only during
// calls, and a handler is cancelled a moment after its caller.
const more = setInterval(() => {}, 1000);
const write = process.stdout.write.bind(process.stdout);

for (const name of names) {
  let printed = "";
  process.stdout.write = (chunk) => {
    printed += chunk;
    return true;
  };
  let error = null;
  try {
    if (name in before) await import(before[name]);
    await import(pathToFileURL(join(folder, `${name}.js`)).href);
  } catch (thrown) {
    error = thrown.stack ?? String(thrown);
  } finally {
    process.stdout.write = write;
  }
  write(`${JSON.stringify({ name, printed, error })}\n`);
}
clearInterval(more);
