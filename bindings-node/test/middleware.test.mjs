// The handler next to other middleware: the requests that it leaves to them, and what they may have
// done before.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { TextDecoderStream } from "node:stream/web";
import { after, test } from "node:test";

import express from "express";
import { Client, Server } from "trunkline";

const accept = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
const initialize = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });

const ends = [];
after(async () => {
  for (const end of ends) await end();
});

function hello(options) {
  const server = new Server({ name: "s", version: "1" }, options);
  server.registerTool("hello", {}, () => "hi");
  ends.push(() => server.close({ deadline: 0 }));
  return server;
}

/** The address of something that listens until the tests are over. */
async function address(listener) {
  const web = createServer(listener).listen(0, "127.0.0.1");
  await once(web, "listening");
  ends.push(() => (web.closeAllConnections(), web.close()));
  return `http://127.0.0.1:${web.address().port}`;
}

const post = (url, body = initialize) => fetch(url, { method: "POST", headers: accept, body });

test("AUS-01, SSE-01: with a path, everything that belongs to the endpoint is served, and other requests pass through", async () => {
  const auth = { resource: "https://mcp.example/mcp", issuer: "https://auth.example" };
  const app = express()
    .use(hello().handler({ path: "/mcp", auth }))
    .use((request, response) => request.pipe(response));
  const url = await address(app);
  for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
    const document = await (await fetch(url + path)).json();
    assert.equal(document.resource, "https://mcp.example/mcp");
  }
  for (const [path, status] of [["/mcp", 401], ["/mcp/", 401], ["/messages?sessionId=x", 401]]) assert.equal((await post(url + path)).status, status, path);
  assert.equal((await fetch(`${url}/sse`)).status, 401);
  for (const path of ["/", "/mcp/x", "/other"]) assert.equal(await (await post(url + path, "x".repeat(100_000))).text(), "x".repeat(100_000));
});

test("a client of 2024-11-05 connects next to a path", async () => {
  const url = await address(express().use(hello().handler({ path: "/mcp" })));
  const stream = await fetch(`${url}/sse`, { headers: { accept: "text/event-stream" } });
  const reader = stream.body.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await reader.read()).value, /event: endpoint\ndata: (\S*)messages\?sessionId=/);
  await reader.cancel();
});

test("a closed server leaves other pages alone", async () => {
  const server = hello();
  const url = await address(express().use(server.handler({ path: "/mcp" })).use((_, response) => response.send("a page")));
  await server.close();
  assert.equal((await post(`${url}/mcp`)).status, 503);
  assert.equal(await (await fetch(url)).text(), "a page");
});

/** As frameworks that read bodies themselves do. */
async function read(request) {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

test("a body that was already read is reported immediately, with the remedy", async () => {
  const handler = hello().handler();
  const url = await address(async (request, response) => {
    await read(request);
    handler(request, response);
  });
  const answer = await post(url);
  assert.equal(answer.status, 500);
  assert.match(await answer.text(), /handler\(request, response\).*request\.body/);
  const errors = [];
  const withNext = await address(async (request, response) => {
    await read(request);
    handler(request, response, (error) => response.end(errors.push(error) && "told"));
  });
  assert.equal(await (await post(withNext)).text(), "told");
  assert.deepEqual(errors.map(({ kind }) => kind), ["invalidArgument"]);
});

test("an already parsed request.body is accepted", async () => {
  const handler = hello().handler();
  for (const bodyOf of [(body) => body, (body) => JSON.stringify(body), (body) => Buffer.from(JSON.stringify(body))]) {
    const url = await address(async (request, response) => {
      if (request.method === "POST") request.body = bodyOf(await read(request));
      else await once(request.resume(), "end");
      handler(request, response);
    });
    const client = await Client.connect(url, { revision: "2025-11-25" });
    assert.equal((await client.callTool("hello")).content[0].text, "hi");
    await client.close(); // A DELETE, whose body was read before and is not one.
  }
});

test("middleware may have set an encoding for the body", async () => {
  const handler = hello().handler();
  const client = await Client.connect(await address((request, response) => handler(request.setEncoding("utf8"), response)));
  assert.equal((await client.callTool("hello")).text, "hi");
  await client.close();
});

test("a request.body that cannot be JSON gets an error response and does not crash the process", async () => {
  const handler = hello().handler();
  const circle = {};
  circle.self = circle;
  for (const body of [1n, circle, { toJSON: () => { throw new Error("mine"); } }]) {
    const url = await address(async (request, response) => {
      await read(request);
      request.body = body;
      handler(request, response);
    });
    const answer = await post(url);
    assert.equal(answer.status, 500);
    assert.match(await answer.text(), /request\.body cannot be written as JSON/);
  }
});

test("a body that is too long is refused, and the client can still read the response", async () => {
  const url = new URL(await address(hello({ maxMessageBytes: 1000 }).handler()));
  const length = 20_000_000;
  const head = ["POST / HTTP/1.1", `host: ${url.host}`, "content-type: application/json", `accept: ${accept.accept}`, `content-length: ${length}`];
  const socket = connect(Number(url.port), url.hostname).pause();
  // This client sends everything before it reads the response.
  await new Promise((said) => socket.write(`${head.join("\r\n")}\r\n\r\n${" ".repeat(length)}`, said));
  const [answer] = await once(socket.resume(), "data");
  assert.match(String(answer), /^HTTP\/1.1 413 /);
  socket.destroy();
});

test("fetch: a body that was already read is reported with the remedy", async () => {
  const request = new Request("http://localhost/mcp", { method: "POST", headers: accept, body: initialize });
  await request.text();
  await assert.rejects(hello().fetch(request), { kind: "invalidArgument", message: /request\.clone\(\)/ });
});
