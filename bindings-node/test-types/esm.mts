// The same types through the other door of the package.
import { Client, Server, type CallToolResult } from "trunkline";

export const server = new Server({ name: "types", version: "1.0.0" });
export const result: Promise<CallToolResult> = Client.connect(server).then((client) => client.callTool("a"));
