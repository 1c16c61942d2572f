// The official TypeScript SDK, 2.x line. Usage: see ../README.md. Two more forms: `server sessions PORT` is HTTP with the
// session transport instead of the SDK's own entry, `client --auto …` turns on its version negotiation (off by default).
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { addTools, check, listen, usage } from './tools.mjs';

const make = () => addTools(new McpServer({ name: 'peer-ts-2', version: '1.0.0' }), z.object);

function serveSessions(port) {
  const sessions = new Map();
  listen(createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => { sessions.set(id, transport); },
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await make().connect(transport);
    }
    await transport.handleRequest(request, response);
  }), port);
}

async function client(args) {
  const auto = args[0] === '--auto';
  const [kind, target, ...rest] = auto ? args.slice(1) : args;
  const peer = new Client({ name: 'peer-ts-2', version: '1.0.0' }, auto ? { versionNegotiation: { mode: 'auto' } } : {});
  await peer.connect(kind === 'http'
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args: rest }));
  await check(peer, () => peer.getNegotiatedProtocolVersion());
}

const [role, ...args] = process.argv.slice(2);
if (role === 'server' && args[0] === 'stdio') serveStdio(make);
else if (role === 'server' && args[0] === 'http') listen(createServer(toNodeHandler(createMcpHandler(make))), args[1]);
else if (role === 'server' && args[0] === 'sessions') serveSessions(args[1]);
else if (role === 'client' && args.length > 1) await client(args);
else usage();
