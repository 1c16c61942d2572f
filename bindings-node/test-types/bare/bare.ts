// A program that names no types of its own, and has the declarations of the package checked.
import { Client, Server } from "trunkline";

const server = new Server({ name: "types", version: "1.0.0" });
server.registerTool("hello", {}, () => "Hello");
export const client: Promise<Client> = Client.connect(server);
