// Runs the compiled snippets of the pages in one process: node run.mjs FOLDER NAME...
// A line of JSON for each one has what it printed.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Modules that prepare a program. */
const before = { in_ai_sdk: "./ai_model.mjs" };

const [folder, ...names] = process.argv.slice(2);
// As in a program that has more to do: a client in memory holds the event loop for its calls only,
// and a handler is cancelled a moment after its caller.
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
