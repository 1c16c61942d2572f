// The tools, resources and prompts of the peer servers in Node, registered with the SDK's API, and
// a completion.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const wav = 'UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA==';
const text = value => ({ content: [{ type: 'text', text: value }] });

const form = { type: 'object', properties: { name: { type: 'string', default: 'John Doe' } } };

/**
 * Registers everything. `shape` turns named fields into a schema for this SDK; `notify` sends a
 * notification of a call, and `token` is its progress token, both from what this SDK passes to a
 * handler; `ask` returns a function that sends the client a request under a key and returns its
 * answer; `log` sends a log message; `caller` is the owner of the access token; `closeStream`
 * closes the stream of a call; `announce` reports a change to clients where the SDK does not do so
 * itself; `hints` say how long a resource may be cached; `completable` and `Template` belong to
 * this SDK.
 */
export function addFeatures(server, { shape, notify, token, ask, log, caller, closeStream, announce, hints, completable, Template }) {
  addTools(server, shape);
  addAsking(server, shape, ask);
  addChanging(server, announce);
  server.registerTool('test_logging_tool', { description: 'Log twice.' }, async context => {
    await log(server, context, 'info', 'an information');
    await log(server, context, 'error', 'an error');
    return text('logged twice');
  });
  server.registerTool('test_whoami', { description: 'Tell who calls.' }, context => text(`caller: ${caller(context) ?? 'nobody'}`));
  server.registerTool('test_reconnection', { description: 'Close the stream before the end.' }, async context => {
    closeStream(context);
    await sleep(100);
    return text('Reconnection test completed successfully');
  });
  server.registerTool('test_tool_with_progress', { description: 'Report progress three times.' }, async context => {
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: token(context), progress, total: 100, message: `Completed step ${progress} of 100` };
      if (params.progressToken !== undefined) await notify(context, { method: 'notifications/progress', params });
      await sleep(50);
    }
    return text('done');
  });
  addContent(server, Template, hints);
  server.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments.' }, () => message('This is a simple prompt for testing.'));
  const arg1 = completable(z.string(), value => ['paris', 'park', 'party'].filter(word => word.startsWith(value)));
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with two arguments.', argsSchema: shape({ arg1, arg2: z.string() }) },
    args => message(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`),
  );
  return server;
}

function addTools(server, shape) {
  const tool = (name, inputs, handler) => server.registerTool(name, { description: name, inputSchema: shape(inputs) }, handler);
  const block = (name, content) => tool(name, {}, () => ({ content: [content] }));

  tool('echo', { message: z.string() }, ({ message }) => text(message));
  tool('add_numbers', { a: z.number(), b: z.number() }, ({ a, b }) => text(String(a + b)));
  block('test_image_content', { type: 'image', data: png, mimeType: 'image/png' });
  block('test_audio_content', { type: 'audio', data: wav, mimeType: 'audio/wav' });
  block('test_embedded_resource', {
    type: 'resource',
    resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
  });
  block('test_resource_link', { type: 'resource_link', uri: 'test://static-text', name: 'static-text' });
  const outputSchema = shape({ city: z.string(), temperature: z.number() });
  server.registerTool('structured', { description: 'Return structured content.', inputSchema: shape({ city: z.string() }), outputSchema }, ({ city }) => {
    const structuredContent = { city, temperature: 21.5 };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
  });
  tool('test_x_mcp_header', { region: z.string().meta({ 'x-mcp-header': 'Region' }) }, () => text('called with its header'));
  tool('slow', { ms: z.number() }, async ({ ms }) => {
    await sleep(ms, undefined, { ref: false });
    return text('done');
  });
  tool('test_error_handling', {}, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
}

function addAsking(server, shape, ask) {
  const tool = (name, inputs, params, show) => server.registerTool(name, { description: name, inputSchema: shape(inputs) }, ask(params, show));

  tool('test_elicitation_sep1034_defaults', {}, { elicit: { mode: 'form', message: 'Please review the defaults', requestedSchema: form } }, ({ action }) => text(`action: ${action}`));
  const messages = [{ role: 'user', content: { type: 'text', text: 'How are you?' } }];
  tool('test_sampling', { prompt: z.string() }, { createMessage: { messages, maxTokens: 100 } }, ({ content }) => text(`LLM response: ${content.text}`));
  tool('test_roots', {}, { listRoots: undefined }, ({ roots }) => text(`roots: ${roots.map(root => root.uri).join(', ')}`));
  const question = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const elicit = { mode: 'form', message: 'What is your name?', requestedSchema: question };
  tool('test_input_required_result_elicitation', {}, { elicit }, ({ content }) => text(`Hello, ${content.name}!`));
}

let number = 0;

/**
 * Each call adds something with a unique name, because clients that share the server may call at
 * the same time.
 */
function addChanging(server, announce) {
  const tool = (name, handler) => server.registerTool(name, { description: name }, async () => {
    await handler();
    return text('changed');
  });
  const changes = (name, method, register) => tool(name, async () => {
    const added = register(`added_${++number}`);
    announce(server, { method });
    await sleep(20);
    added.remove();
  });

  changes('test_trigger_tool_change', 'notifications/tools/list_changed', name => server.registerTool(name, { description: name }, () => text('')));
  changes('test_trigger_prompt_change', 'notifications/prompts/list_changed', name => server.registerPrompt(name, {}, () => message('')));
  changes('test_trigger_resource_change', 'notifications/resources/list_changed', name =>
    server.registerResource(name, `test://${name}`, {}, () => ({ contents: [] })),
  );
  tool('test_update_resource', () => announce(server, { method: 'notifications/resources/updated', params: { uri: 'test://watched-resource' } }));
}

function addContent(server, Template, hints) {
  const contents = (uri, part) => ({ contents: [{ uri: uri.href, ...part }] });
  const resource = (name, mimeType, part) => server.registerResource(name, `test://${name}`, { mimeType }, uri => contents(uri, { mimeType, ...part }));

  resource('static-text', 'text/plain', { text: 'This is the content of the static text resource.' });
  resource('static-binary', 'image/png', { blob: png });
  resource('watched-resource', 'text/plain', { text: 'Watched resource content' });
  const counted = { mimeType: 'text/plain', ...hints };
  server.registerResource('counted-reads', 'test://counted-reads', counted, uri => contents(uri, { mimeType: 'text/plain', text: `read ${++number}` }));
  const mimeType = 'application/json';
  server.registerResource('template', new Template('test://template/{id}/data', { list: undefined }), { mimeType }, (uri, { id }) =>
    contents(uri, { mimeType, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }),
  );
}

const message = value => ({ messages: [{ role: 'user', content: { type: 'text', text: value } }] });
