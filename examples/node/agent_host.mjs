// A host in the terminal: node agent_host.mjs mcp.json
//
// It connects to every server in the configuration, lists their features, and calls the tools that
// the user names. Servers can ask the user in the terminal, and let the user log in with the
// browser.
import { createInterface } from "node:readline";

import { ClientGroup } from "trunkline";

const HELP = `NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
read URI             reads a resource
prompt NAME [JSON]   gets a prompt`;

async function show(group) {
  for (const { name, state, error } of await group.servers()) console.log(`${name}: ${error?.message ?? state}`);
  for (const { name, description } of await group.listTools()) console.log(`tool ${name}: ${description ?? ""}`);
  for (const { uri, name } of await group.listResources()) console.log(`resource ${uri}: ${name}`);
  for (const { name, description } of await group.listPrompts()) console.log(`prompt ${name}: ${description ?? ""}`);
}

async function run(group, line) {
  const [, name, rest] = /^(\S+)\s*(.*)$/.exec(line);
  if (name === "read") {
    for (const content of (await group.readResource(rest)).contents) console.log(content.text ?? content);
  } else if (name === "prompt") {
    const [, prompt, json] = /^(\S*)\s*(.*)$/.exec(rest);
    const { messages } = await group.getPrompt(prompt, JSON.parse(json || "{}"));
    for (const { role, content } of messages) console.log(`${role}: ${content.text ?? JSON.stringify(content)}`);
  } else {
    const { content } = await group.callTool(name, JSON.parse(rest || "{}"));
    for (const block of content) console.log(block.text ?? block);
  }
}

const auth = { clientName: "Agent host", store: "file" };
const group = await ClientGroup.connect(process.argv[2], { terminalForms: true, auth });
try {
  await show(group);
  console.log(HELP);
  const lines = createInterface({ input: process.stdin });
  process.stdout.write("> ");
  for await (const line of lines) {
    // The program uses the terminal only between calls; during calls, `terminalForms` may.
    lines.pause();
    if (line.trim()) await run(group, line.trim()).catch((error) => console.log(`error: ${error.message}`));
    process.stdout.write("> ");
    lines.resume();
  }
} finally {
  await group.close();
}
