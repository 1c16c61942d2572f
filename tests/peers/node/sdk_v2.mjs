// The official TypeScript SDK, 2.x line. Usage: see ../README.md. One more form:
// `server sessions PORT` is HTTP with the session transport instead of the SDK's own entry.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { addFeatures } from './features.mjs';
import { host } from './host.mjs';
import { commandOf, play } from './play.mjs';
import { listen, usage } from './serve.mjs';

const make = () => addFeatures(new McpServer({ name: 'peer-ts-2', version: '1.0.0' }), {
  shape: z.object,
  notify: (context, notification) => context.mcpReq.notify(notification),
  token: context => context.mcpReq._meta?.progressToken,
  ask: (params, show) => (...given) => {
    const answer = given.at(-1).mcpReq.inputResponses?.asked;
    const [[name, details]] = Object.entries(params);
    return answer ? show(answer) : inputRequired({ inputRequests: { asked: inputRequired[name](details) } });
  },
  completable,
  Template: ResourceTemplate,
});

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

async function connect(target, revision) {
  const modern = revision === 'auto' ? 'auto' : { pin: revision };
  const { capabilities } = host;
  const client = new Client({ name: 'peer-ts-2', version: '1.0.0' }, revision < '2026'
    ? { capabilities, supportedProtocolVersions: [revision] }
    : { capabilities, versionNegotiation: { mode: modern } });
  client.setRequestHandler('elicitation/create', host.elicit);
  client.setRequestHandler('sampling/createMessage', host.sample);
  client.setRequestHandler('roots/list', host.roots);
  const command = commandOf(target);
  await client.connect(command ? new StdioClientTransport(command) : new StreamableHTTPClientTransport(new URL(target[0])));
  return { client, revision: () => client.getNegotiatedProtocolVersion() };
}

const callTool = (client, params, options) => client.callTool(params, options);
const [role, ...args] = process.argv.slice(2);
if (role === 'server' && args[0] === 'stdio') serveStdio(make);
else if (role === 'server' && args[0] === 'http') listen(createServer(toNodeHandler(createMcpHandler(make))), args[1]);
else if (role === 'server' && args[0] === 'sessions') serveSessions(args[1]);
else if (role === 'client' && args[0] === '--play' && args.length > 2) await play(args.slice(1), connect, callTool);
else usage();
