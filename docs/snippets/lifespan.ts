// A server that opens a database before its first call, and closes it after its last.
import { Client, Server, type CallToolResult } from "trunkline";

/** Stands for a driver. */
class Database implements AsyncDisposable {
  static async connect(): Promise<Database> {
    console.log("orders opens");
    return new Database();
  }
  async count(): Promise<number> {
    return 7;
  }
  async [Symbol.asyncDispose](): Promise<void> {
    console.log("orders closes");
  }
}

const server = new Server({ name: "orders", version: "1.0.0" }, { lifespan: Database.connect });

server.registerTool("count", { description: "Count the orders." }, (_, ctx) => (ctx.lifespan as Database).count());

const text = ({ content }: CallToolResult) => content.map((block) => (block.type === "text" ? block.text : "")).join("");

const client = await Client.connect(server);
console.log(text(await client.callTool("count")));
await client.close();
await server.close();
