// A server with everything that a client can request: over stdio when run, and as a function.
import { pathToFileURL } from "node:url";

import { Server } from "trunkline";

/** Pages of two, so that each list has several. */
export function makeServer() {
  const server = new Server({ name: "operations", version: "1.0.0" }, { pageSize: 2 });
  for (const name of ["a", "b", "c"]) {
    server.registerTool(name, { title: `Tool ${name}` }, () => name);
    server.registerResource(name, `test://${name}`, { mimeType: "text/plain" }, () => `contents of ${name}`);
    server.registerResource(`${name} of`, `test://${name}/{item}`, {}, (uri, { item }) => `${item} of ${name}`);
    server.registerPrompt(name, { arguments: [{ name: "city", required: name === "a" }] }, ({ city }) => `${name} in ${city}`);
  }
  const greeting = { type: "object", properties: { zone: { type: "string" }, area: { type: "string" } }, required: ["zone"] };
  server.registerTool("greet", { inputSchema: greeting }, async ({ zone, area }, ctx) => {
    await ctx.progress(1, 2, "half");
    return { content: [{ type: "text", text: `${zone} ${area}` }], _meta: { "test/given": ctx.meta["test/asked"] ?? null } };
  });
  server.registerResource("bytes", "test://bytes", { mimeType: "application/octet-stream" }, () => new Uint8Array([1, 2, 3]));
  server.registerResource("broken", "test://broken", {}, () => {
    throw new Error("on purpose");
  });
  server.registerCompletion({ type: "ref/prompt", name: "a" }, "city", (value, { arguments: known }) =>
    ["Oslo", "Osaka", "Bergen"].filter((city) => city.startsWith(value) && city !== known.not));
  server.registerCompletion({ type: "ref/resource", uri: "test://a/{item}" }, "item", (value) => [`${value}1`, `${value}2`]);
  return server;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await makeServer().serveStdio();
