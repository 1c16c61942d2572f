// The least code in Node.js that answers over stdio: the cost of the interpreter.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const message of lines.map((line) => JSON.parse(line))) {
    if (message.id === undefined) continue;
    const result = {
      protocolVersion: message.params.protocolVersion,
      capabilities: {},
      serverInfo: { name: "bare-node", version: "0" },
    };
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n`);
  }
});
