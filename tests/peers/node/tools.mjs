// The two tools that every peer offers, and the check that every peer client makes.
import { z } from 'zod';

const text = value => ({ content: [{ type: 'text', text: value }] });

/** Registers `echo` and `add_numbers`; `shape` turns named fields into what this SDK takes as an input schema. */
export function addTools(server, shape) {
  server.registerTool('echo', { description: 'Give the message back.', inputSchema: shape({ message: z.string() }) },
    async ({ message }) => text(message));
  server.registerTool('add_numbers', { description: 'Add two numbers.', inputSchema: shape({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => text(String(a + b)));
  return server;
}

export async function check(client, revision) {
  const { tools } = await client.listTools();
  for (const name of ['echo', 'add_numbers'])
    if (!tools.some(tool => tool.name === name)) throw new Error(`no tool ${name} in ${tools.map(tool => tool.name)}`);
  const result = await client.callTool({ name: 'add_numbers', arguments: { a: 2, b: 3 } });
  if (result.isError || result.content[0].text !== '5') throw new Error(JSON.stringify(result));
  console.log('ok', revision());
  await client.close();
}

export function listen(server, port) {
  server.listen(Number(port), '127.0.0.1', () => console.log(`listening http://127.0.0.1:${server.address().port}/mcp`));
}

export function usage() {
  console.error('usage: server stdio | server http PORT | client http URL | client stdio COMMAND...');
  process.exit(2);
}
