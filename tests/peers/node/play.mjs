// Operations as data (../../vectors/README.md, "Vectors for clients"), done by the clients of the
// TypeScript SDKs.
import { readFileSync, writeSync } from 'node:fs';

/**
 * Plays a file. `connect` gives a client, and a function for the revision that it speaks;
 * `callTool` calls a tool with options.
 * The arguments are those of the command line after `--play`.
 */
export async function play([file, ...target], connect, callTool) {
  for (const { revision, do: operations } of JSON.parse(readFileSync(file, 'utf8')).plays) {
    let client;
    await timed(async () => {
      const connection = await connect(target, revision);
      client = connection.client;
      return { connected: connection.revision() };
    });
    if (client === undefined) continue;
    for (const operation of operations) await timed(() => perform(client, operation, callTool));
    await client.close();
  }
  process.exit(0); // what the SDK leaves running is not waited for
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

async function perform(client, operation, callTool) {
  const [[name, details]] = Object.entries(operation);
  switch (name) {
    case 'ping':
      await client.ping();
      return { ping: true };
    case 'callTool':
      return call(client, details, callTool);
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
    default:
      throw new Error(`this peer has no operation ${name}`);
  }
}

async function call(client, details, callTool) {
  let last = null;
  const options = {};
  if (details.timeoutMs !== undefined) options.timeout = details.timeoutMs;
  if (details.progress) options.onprogress = ({ progress }) => { last = progress; };
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
