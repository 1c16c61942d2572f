// The official TypeScript SDK, 1.x line. Usage: see ../README.md.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { addTools, check, listen, usage } from './tools.mjs';

const make = () => addTools(new McpServer({ name: 'peer-ts-1', version: '1.0.0' }), fields => fields);

function serveHttp(port) {
  const sessions = new Map();
  listen(createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => { sessions.set(id, transport); },
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await make().connect(transport);
    }
    await transport.handleRequest(request, response);
  }), port);
}

async function client([kind, target, ...args]) {
  const transport = kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args });
  let revision; // this SDK tells its transports, not its user
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = version => { revision = version; setVersion?.(version); };
  const peer = new Client({ name: 'peer-ts-1', version: '1.0.0' });
  await peer.connect(transport);
  await check(peer, () => revision);
}

const [role, ...args] = process.argv.slice(2);
if (role === 'server' && args[0] === 'stdio') await make().connect(new StdioServerTransport());
else if (role === 'server' && args[0] === 'http') serveHttp(args[1]);
else if (role === 'client' && args.length > 1) await client(args);
else usage();
