// The same for Bun and Deno: inside the runtime's server, and as its own child process.
import { Client, Server } from "trunkline";

const server = new Server({ name: "runtime", version: "1.0.0" });
server.registerTool("hello", { description: "Greets." }, () => "Hello from a runtime");

if (process.argv.includes("--stdio")) await server.serveStdio();
else {
  const { Bun, Deno } = globalThis;
  const web = Bun ? Bun.serve({ port: 0, fetch: server.fetch }) : Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, server.fetch);
  const port = Bun ? web.port : web.addr.port;
  const child = Bun ? [process.execPath] : [process.execPath, "run", "--no-prompt", "--allow-ffi", "--allow-read", "--allow-env"];
  for (const target of [`http://127.0.0.1:${port}/`, [...child, import.meta.filename, "--stdio"]]) {
    const client = await Client.connect(target);
    console.log((await client.callTool("hello")).content[0].text);
    await client.close();
  }
  await server.close();
  await (Bun ? web.stop() : web.shutdown());
}
