// The official TypeScript SDK, 2.x line. Usage: see ../README.md. One more form:
// `server sessions PORT` is HTTP with the session transport instead of the SDK's own entry.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired, verifyBearerToken } from '@modelcontextprotocol/server';
import { SkillsExtension, memorySkillFiles } from '@modelcontextprotocol/server/ext/skills';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { addFeatures } from './features.mjs';
import { host } from './host.mjs';
import { bearer, commandOf, isSse, play } from './play.mjs';
import { Events, listen, usage, verifier } from './serve.mjs';

const capabilities = {
  logging: {},
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
};
const skills = await SkillsExtension.load(memorySkillFiles({
  'unit-conversion/SKILL.md': '---\nname: unit-conversion\ndescription: Converts lengths.\n---\n# Unit conversion\n',
  'unit-conversion/references/factors.md': '# Factors\n\n- 1 inch is 2.54 cm\n- 1 pound is 0.45359237 kg\n',
}));

/** `announce` is for servers that exist for one request only, `declared` are their capabilities. */
const make = (announce, declared = capabilities) => addFeatures(extended(new McpServer({ name: 'peer-ts-2', version: '1.0.0' }, { capabilities: declared })), {
  shape: z.object,
  notify: (context, notification) => context.mcpReq.notify(notification),
  token: context => context.mcpReq._meta?.progressToken,
  ask: (params, show) => (...given) => {
    const answer = given.at(-1).mcpReq.inputResponses?.user_name;
    const [[name, details]] = Object.entries(params);
    return answer ? show(answer) : inputRequired({ inputRequests: { user_name: inputRequired[name](details) } });
  },
  log: (_, context, level, data) => context.mcpReq.log(level, data),
  caller: context => context.http?.authInfo?.clientId,
  closeStream: context => context.http.closeSSE(),
  announce: announce ?? ((server, { params }) => { if (params) void server.server.sendResourceUpdated(params); }),
  hints: { cacheHint: { ttlMs: 60_000 } },
  completable,
  Template: ResourceTemplate,
});

function extended(server) {
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) server.server.setRequestHandler(method, () => ({}));
  skills.attach(server);
  return server;
}

/** One server per request: the handler sends changes to all clients. */
function serveHttp(port, file) {
  const announce = (_, { method, params }) => {
    if (params) handler.notify.resourceUpdated(params.uri);
    else handler.notify[`${method.split('/')[1]}Changed`]();
  };
  // A client of a legacy revision has no stream on which a change could arrive.
  const legacy = { logging: {}, tools: { listChanged: false }, prompts: { listChanged: false }, resources: { listChanged: false } };
  const handler = createMcpHandler(({ era }) => make(announce, era === 'legacy' ? legacy : undefined));
  const serve = toNodeHandler(handler);
  const options = file && { verifier: verifier(file), requiredScopes: ['mcp'] };
  listen(createServer(async (request, response) => {
    try {
      if (options) request.auth = await verifyBearerToken(request.headers.authorization, options);
      await serve(request, response);
    } catch {
      response.writeHead(401).end();
    }
  }), port);
}

function serveSessions(port) {
  const sessions = new Map();
  listen(createServer(async (request, response) => {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => { sessions.set(id, transport); },
        eventStore: new Events(),
        retryInterval: 50,
      });
      transport.onclose = () => sessions.delete(transport.sessionId);
      await make().connect(transport);
    }
    await transport.handleRequest(request, response);
  }), port);
}

async function connect(target, { revision, logLevel, token }, note) {
  const modern = revision === 'auto' ? 'auto' : { pin: revision };
  const { capabilities } = host;
  const client = new Client({ name: 'peer-ts-2', version: '1.0.0' }, revision < '2026'
    ? { capabilities, supportedProtocolVersions: [revision] }
    : { capabilities, versionNegotiation: { mode: modern } });
  client.setRequestHandler('elicitation/create', host.elicit);
  client.setRequestHandler('sampling/createMessage', host.sample);
  client.setRequestHandler('roots/list', host.roots);
  client.fallbackNotificationHandler = async notification => note(notification);
  const command = commandOf(target);
  const overHttp = isSse(target) ? SSEClientTransport : StreamableHTTPClientTransport;
  await client.connect(command ? new StdioClientTransport(command) : new overHttp(new URL(target[0]), { requestInit: bearer(token) }));
  if (!isModern(client) && client.getServerCapabilities().logging) await client.setLoggingLevel(logLevel);
  return { client, revision: () => client.getNegotiatedProtocolVersion() };
}

const isModern = client => client.getNegotiatedProtocolVersion() >= '2026';

const sdk = {
  connect,
  callTool: (client, params, options) => client.callTool(params, options),
  request: (client, request) => client.request(request, z.looseObject({})),
  logMeta: (client, level) => isModern(client) ? { [LOG_LEVEL_META_KEY]: level } : undefined,
  async subscribe(client, { tools, prompts, resourceList, resources = [] }) {
    if (isModern(client)) {
      const filter = { toolsListChanged: tools, promptsListChanged: prompts, resourcesListChanged: resourceList };
      const subscription = await client.listen(resources.length > 0 ? { ...filter, resourceSubscriptions: resources } : filter);
      return () => subscription.close();
    }
    for (const uri of resources) await client.subscribeResource({ uri });
    return async () => {
      for (const uri of resources) await client.unsubscribeResource({ uri });
    };
  },
  /** The result of a round, or the requests for input and the state. */
  callRound: (client, params) => client.callTool(params, { allowInputRequired: true }),
  async listSkills(client) {
    return { skills: (await new SkillsClient(client).list()).skills.map(({ uri }) => uri) };
  },
  async loadSkill(client, { uri, file }) {
    const reader = new SkillsClient(client);
    const { skill } = await reader.get(uri);
    const [{ text }, contents] = [await reader.read(skill), await reader.read(skill, file)];
    return { text, bytes: contents.bytes.length };
  },
};
const [role, ...args] = process.argv.slice(2);
if (role === 'server' && args[0] === 'stdio') serveStdio(() => make());
else if (role === 'server' && args[0] === 'http') serveHttp(args[1], args[3]);
else if (role === 'server' && args[0] === 'sessions') serveSessions(args[1]);
else if (role === 'client' && args[0] === '--play' && args.length > 2) await play(args.slice(1), sdk);
else usage();
