// Logs in with our client in Node.js. Reads a line of JSON for each login, with the URL of a server
// and the options of `auth`; prints one with the URL of the login page, and one with the result.
import { createInterface } from "node:readline";

import { Client, TrunklineError } from "trunkline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value ?? "null");
const write = (line) => console.log(JSON.stringify(line));

/** The browser: it replies when it has left the login page. */
async function onOpenUrl({ url }) {
  write({ open: url });
  const { failed } = await read();
  if (failed) throw new Error(failed);
}

async function logIn({ url, auth, tool, calls }) {
  const client = await Client.connect(url, { auth, onOpenUrl });
  try {
    const texts = [];
    for (let call = 0; call < calls; ++call) texts.push((await client.callTool(tool, {})).text);
    return { texts };
  } finally {
    await client.close();
  }
}

for (let login; (login = await read()); ) {
  write(
    await logIn(login).catch((error) => {
      if (!(error instanceof TrunklineError)) throw error;
      return { error: error.kind, message: error.message };
    }),
  );
}
