// The official TypeScript SDK, 1.x line. Usage: see ../README.md.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import {
  CreateMessageRequestSchema,
  CreateMessageResultSchema,
  ElicitRequestSchema,
  ElicitResultSchema,
  ListRootsRequestSchema,
  ListRootsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { addFeatures } from './features.mjs';
import { host } from './host.mjs';
import { commandOf, play } from './play.mjs';
import { listen, usage } from './serve.mjs';

const asked = {
  elicit: ['elicitation/create', ElicitResultSchema],
  createMessage: ['sampling/createMessage', CreateMessageResultSchema],
  listRoots: ['roots/list', ListRootsResultSchema],
};

const make = () => addFeatures(new McpServer({ name: 'peer-ts-1', version: '1.0.0' }), {
  shape: fields => fields,
  notify: (extra, notification) => extra.sendNotification(notification),
  token: extra => extra._meta?.progressToken,
  ask: (params, show) => async (_, extra) => {
    const [[name, given]] = Object.entries(params);
    const [method, schema] = asked[name];
    return show(await extra.sendRequest({ method, params: given }, schema));
  },
  completable,
  Template: ResourceTemplate,
});

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

async function connect(target, asked) {
  const command = commandOf(target);
  const transport = command ? new StdioClientTransport(command) : new StreamableHTTPClientTransport(new URL(target[0]));
  let revision; // this SDK tells its transports, not its user
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = version => { revision = version; setVersion?.(version); };
  const send = transport.send.bind(transport);
  transport.send = (message, options) => { // this SDK only ever offers its newest revision
    if (message.method === 'initialize' && asked !== 'auto') message.params.protocolVersion = asked;
    return send(message, options);
  };
  const client = new Client({ name: 'peer-ts-1', version: '1.0.0' }, { capabilities: host.capabilities });
  client.setRequestHandler(ElicitRequestSchema, host.elicit);
  client.setRequestHandler(CreateMessageRequestSchema, host.sample);
  client.setRequestHandler(ListRootsRequestSchema, host.roots);
  await client.connect(transport);
  return { client, revision: () => revision };
}

const callTool = (client, params, options) => client.callTool(params, undefined, options);
const [role, ...args] = process.argv.slice(2);
if (role === 'server' && args[0] === 'stdio') await make().connect(new StdioServerTransport());
else if (role === 'server' && args[0] === 'http') serveHttp(args[1]);
else if (role === 'client' && args[0] === '--play' && args.length > 2) await play(args.slice(1), connect, callTool);
else usage();
