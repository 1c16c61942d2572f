// Starts the server beside it and calls its tool.
import { Client } from "trunkline";

const client = await Client.connect(["node", "hello_server.mjs"]);
try {
  const result = await client.callTool("hello", { name: "Ada" });
  console.log(result.content[0].text);
} finally {
  await client.close();
}
