// A server that opens a database before the first call and closes it after the last.
import { Client, Server } from "trunkline";

/** Stands in for a database driver. */
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

const client = await Client.connect(server);
console.log((await client.callTool("count")).text);
await client.close();
await server.close();
