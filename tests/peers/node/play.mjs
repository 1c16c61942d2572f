// Operations as data (../../vectors/README.md, "Vectors for clients"), done by the clients of the
// TypeScript SDKs.
import { readFileSync, writeSync } from 'node:fs';

/** A notification may take this long. */
const timeoutMs = 5000;

const changes = {
  'notifications/tools/list_changed': 'tools',
  'notifications/prompts/list_changed': 'prompts',
  'notifications/resources/list_changed': 'resourceList',
  'notifications/resources/updated': 'resource',
};

/**
 * Plays a file. `sdk.connect` gives a client, and a function for the revision that it speaks, and
 * passes notifications on; `sdk` has the operations that differ between the lines of the SDK.
 * The arguments are those of the command line after `--play`.
 */
export async function play([file, ...target], sdk) {
  for (const part of JSON.parse(readFileSync(file, 'utf8')).plays) {
    const inbox = new Inbox();
    let client;
    await timed(async () => {
      const connection = await sdk.connect(part.target ?? target, part, notification => inbox.put(notification));
      client = connection.client;
      return { connected: connection.revision() };
    });
    if (client === undefined) continue;
    const player = { client, inbox, sdk, logLevel: part.logLevel };
    for (const operation of part.do) await timed(() => perform(player, operation));
    await client.close();
  }
  process.exit(0); // does not wait for what the SDK leaves running
}

/** Adds an access token to a client's requests. */
export const bearer = token => (token ? { headers: { Authorization: `Bearer ${token}` } } : {});

/** Returns whether this is the URL of an HTTP+SSE server. */
export const isSse = ([url]) => url.endsWith('/sse');

/** Notifications, queued until one is requested. */
class Inbox {
  #kept = [];
  #wake = () => {};

  put(notification) {
    this.#kept.push(notification);
    this.#wake();
  }

  clear() {
    this.#kept = [];
  }

  /** The next notification that `fits`. */
  async take(fits) {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const place = this.#kept.findIndex(fits);
      if (place >= 0) return this.#kept.splice(place, 1)[0];
      const left = until - performance.now();
      if (left <= 0) throw Object.assign(new Error('no such notification came'), { code: 'REQUEST_TIMEOUT' });
      await new Promise(resolve => {
        this.#wake = resolve;
        setTimeout(resolve, left);
      });
    }
  }
}

/** The command and the arguments of a server, or undefined for a URL. */
export function commandOf(target) {
  return target[0] === '--stdio' ? { command: target[1], args: target.slice(2) } : undefined;
}

async function timed(work) {
  const start = performance.now();
  const line = await work().catch(error => ({ error: kindOf(error), message: String(error?.message ?? error) }));
  writeSync(1, `${JSON.stringify({ ms: Math.round((performance.now() - start) * 10) / 10, ...line })}\n`);
}

function kindOf({ code, name }) {
  if (name === 'AbortError') return 'cancelled';
  if (code === -32001 || code === 'REQUEST_TIMEOUT') return 'timeout';
  return typeof code === 'number' ? 'protocol' : String(code ?? name);
}

async function perform({ client, inbox, sdk, logLevel }, operation) {
  const [[name, details]] = Object.entries(operation);
  switch (name) {
    case 'ping':
      await client.ping();
      return { ping: true };
    case 'callTool':
      return call(client, details, sdk.callTool);
    case 'listTools':
      if (details.page) {
        const { tools, nextCursor } = await client.listTools();
        return { tools: tools.map(tool => tool.name), more: nextCursor !== undefined };
      }
      return gather(cursor => client.listTools(cursor), 'tools', 'name');
    case 'listResources':
      return gather(cursor => client.listResources(cursor), 'resources', 'uri');
    case 'listResourceTemplates':
      return gather(cursor => client.listResourceTemplates(cursor), 'resourceTemplates', 'uriTemplate');
    case 'listPrompts':
      return gather(cursor => client.listPrompts(cursor), 'prompts', 'name');
    case 'readResource':
      return { contents: (await client.readResource(details)).contents.map(({ text, blob }) => text ?? blob) };
    case 'getPrompt':
      return { messages: (await client.getPrompt(details)).messages.map(({ content }) => content.text) };
    case 'complete':
      return { values: (await client.complete(details)).completion.values };
    case 'request':
      return { result: await sdk.request(client, details) };
    case 'notify':
      await client.notification(details);
      return { notified: true };
    case 'subscribe':
      return subscribe(client, inbox, sdk, details);
    case 'log': {
      inbox.clear();
      await sdk.callTool(client, { name: details.call, arguments: {}, _meta: sdk.logMeta?.(client, logLevel) });
      const logged = [];
      do logged.push((await inbox.take(({ method }) => method === 'notifications/message')).params);
      while (logged.at(-1).level !== 'error');
      return { logged: logged.map(({ data }) => data) };
    }
    case 'callInRounds':
      return callInRounds(client, sdk, details);
    default: // those that only one line of the SDK has
      if (sdk[name] === undefined) throw new Error(`this peer has no operation ${name}`);
      return sdk[name](client, details);
  }
}

async function call(client, details, callTool) {
  let last = null;
  const options = {};
  if (details.timeoutMs !== undefined) options.timeout = details.timeoutMs;
  const { transport } = client;
  const deliver = transport.onmessage;
  if (details.progress) {
    options.onprogress = ({ progress }) => { last = progress; };
    // The SDK drops the callback when the response arrives, even for progress that it read together
    // with it.
    transport.onmessage = (message, extra) => { setImmediate(deliver, message, extra); };
  }
  let abort;
  if (details.cancelMs !== undefined) {
    const controller = new AbortController();
    options.signal = controller.signal;
    abort = setTimeout(() => controller.abort(), details.cancelMs);
  }
  try {
    const result = await callTool(client, { name: details.name, arguments: details.arguments }, options);
    const { content, isError = false, structuredContent = null } = result;
    return { text: content[0]?.text, isError, progress: last, content, structured: structuredContent };
  } catch (error) {
    if (options.signal?.aborted) return { error: 'cancelled', message: String(error?.message ?? error) };
    throw error;
  } finally {
    clearTimeout(abort);
    transport.onmessage = deliver;
  }
}

/** Calls a tool that changes something, and returns the first change. */
async function subscribe(client, inbox, sdk, { to, call: name }) {
  inbox.clear();
  const end = await sdk.subscribe(client, to);
  await sdk.callTool(client, { name, arguments: {} });
  const kinds = Object.keys(to).map(kind => (kind === 'resources' ? 'resource' : kind));
  const { method, params } = await inbox.take(notification => kinds.includes(changes[notification.method]));
  await end();
  return { change: changes[method], uri: params?.uri };
}

/** Calls a tool and answers its requests for input by key. */
async function callInRounds(client, sdk, { name, arguments: given, answers }) {
  const asked = [];
  let answered = {};
  for (;;) {
    const result = await sdk.callRound(client, { name, arguments: given, ...answered });
    if (result.inputRequests === undefined) return { asked, text: result.content[0]?.text };
    const keys = Object.keys(result.inputRequests);
    const fitting = answers.filter(({ key }) => keys.includes(key)).map(({ key, response }) => [key, response]);
    answered = { inputResponses: Object.fromEntries(fitting), requestState: result.requestState };
    asked.push(...keys);
  }
}

async function gather(list, member, part) {
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? undefined : { cursor });
    items.push(...page[member]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return { [member]: items.map(item => item[part]) };
}
