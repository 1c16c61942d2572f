// The official TypeScript SDK, 1.x line. Usage: see ../README.md.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
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
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { z } from 'zod';
import { addFeatures } from './features.mjs';
import { host } from './host.mjs';
import { bearer, commandOf, isSse, play } from './play.mjs';
import { Events, listen, usage, verifier } from './serve.mjs';

const asked = {
  elicit: ['elicitation/create', ElicitResultSchema],
  createMessage: ['sampling/createMessage', CreateMessageResultSchema],
  listRoots: ['roots/list', ListRootsResultSchema],
};

const capabilities = {
  logging: {},
  resources: { subscribe: true, listChanged: true },
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};
const tasks = { taskStore: new InMemoryTaskStore(), taskMessageQueue: new InMemoryTaskMessageQueue() };

const make = () => addTask(addFeatures(subscribable(new McpServer({ name: 'peer-ts-1', version: '1.0.0' }, { capabilities, ...tasks })), {
  shape: fields => fields,
  notify: (extra, notification) => extra.sendNotification(notification),
  token: extra => extra._meta?.progressToken,
  ask: (params, show) => async (_, extra) => {
    const [[name, given]] = Object.entries(params);
    const [method, schema] = asked[name];
    return show(await extra.sendRequest({ method, params: given }, schema));
  },
  log: (server, { sessionId }, level, data) => server.sendLoggingMessage({ level, data }, sessionId),
  caller: extra => extra.authInfo?.clientId,
  closeStream: extra => extra.closeSSEStream(),
  // The SDK announces lists itself.
  announce: (server, { params }) => { if (params) void server.server.sendResourceUpdated(params); },
  completable,
  Template: ResourceTemplate,
}));

function subscribable(server) {
  for (const schema of [SubscribeRequestSchema, UnsubscribeRequestSchema]) server.server.setRequestHandler(schema, () => ({}));
  return server;
}

function addTask(server) {
  const config = { description: 'Take some time.', inputSchema: { seconds: z.number(), label: z.string() }, execution: { taskSupport: 'optional' } };
  server.experimental.tasks.registerToolTask('slow_compute', config, {
    async createTask({ seconds, label }, { taskStore }) {
      const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 50 });
      const result = { content: [{ type: 'text', text: `computed ${label}` }] };
      void sleep(seconds * 1000).then(() => taskStore.storeTaskResult(task.taskId, 'completed', result));
      return { task };
    },
    getTask: (_, { taskStore, taskId }) => taskStore.getTask(taskId),
    getTaskResult: (_, { taskStore, taskId }) => taskStore.getTaskResult(taskId),
  });
  return server;
}

/** `file` contains the access tokens, if any are required. */
function serveHttp(port, file) {
  const sessions = new Map();
  const protect = file ? requireBearerAuth({ verifier: verifier(file), requiredScopes: ['mcp'] }) : (_, __, next) => next();
  const app = express();
  app.all('/mcp', protect, async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => { sessions.set(id, transport); },
        eventStore: new Events(),
        retryInterval: 50,
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await make().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  listen(createServer(app), port);
}

function serveSse(port) {
  const sessions = new Map();
  listen(createServer(async (request, response) => {
    if (request.method !== 'GET') {
      const transport = sessions.get(new URL(request.url, 'http://localhost').searchParams.get('sessionId'));
      if (transport) await transport.handlePostMessage(request, response);
      else response.writeHead(405).end();
      return;
    }
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    transport.onclose = () => sessions.delete(transport.sessionId);
    await make().connect(transport);
  }), port, '/sse');
}

async function connect(target, { revision: asked, logLevel, token }, note) {
  const command = commandOf(target);
  const overHttp = isSse(target) ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = command ? new StdioClientTransport(command) : new overHttp(new URL(target[0]), { requestInit: bearer(token) });
  let revision; // this SDK notifies its transports, not the caller
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
  client.fallbackNotificationHandler = async notification => note(notification);
  await client.connect(transport);
  if (client.getServerCapabilities().logging) await client.setLoggingLevel(logLevel);
  return { client, revision: () => revision };
}

const sdk = {
  connect,
  callTool: (client, params, options) => client.callTool(params, undefined, options),
  request: (client, request) => client.request(request, z.looseObject({})),
  async subscribe(client, { resources = [] }) {
    for (const uri of resources) await client.subscribeResource({ uri });
    return async () => {
      for (const uri of resources) await client.unsubscribeResource({ uri });
    };
  },
  async callAsTask(client, params) {
    let isTask = false;
    for await (const step of client.experimental.tasks.callToolStream(params, undefined, { task: {} })) {
      isTask ||= step.type === 'taskCreated';
      if (step.type === 'error') throw step.error;
      if (step.type === 'result') return { isTask, text: step.result.content[0]?.text };
    }
  },
};
const [role, ...args] = process.argv.slice(2);
if (role === 'server' && args[0] === 'stdio') await make().connect(new StdioServerTransport());
else if (role === 'server' && args[0] === 'http') serveHttp(args[1], args[3]);
else if (role === 'server' && args[0] === 'sse') serveSse(args[1]);
else if (role === 'client' && args[0] === '--play' && args.length > 2) await play(args.slice(1), sdk);
else usage();
