// Connects to many servers at once with the v2 SDK. usage: ts2_connect.mjs N -- server command...
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [n, , command, ...args] = process.argv.slice(2);
const stdin = createInterface({ input: process.stdin });
console.log('READY');
await once(stdin, 'line');
await Promise.all(Array.from({ length: Number(n) }, async () => {
  const c = new Client({ name: 'bench', version: '0' });
  await c.connect(new StdioClientTransport({ command, args }));
  const { tools } = await c.listTools();
  if (tools.length !== 2) throw new Error(`${tools.length} tools`);
}));
console.log('DONE');
