// A program without types, which has the declarations of the package checked.
import { Client, Server } from "trunkline";

const server = new Server({ name: "types", version: "1.0.0" });
server.registerTool("hello", {}, () => "Hello");
export const client: Promise<Client> = Client.connect(server);
