// The declarations of the package, checked by the oldest TypeScript for which they are.
import { Client, Server } from "trunkline";

const server = new Server({ name: "types", version: "1.0.0" });
server.registerTool("hello", {}, () => "Hello");
export const client: Promise<Client> = Client.connect(server);
