// The endpoint /mcp: a server in a route handler of Next.js.
import { Server } from "trunkline";

const server = new Server({ name: "next", version: "1.0.0" });
server.registerTool("hello", { description: "Greets." }, () => "Hello from Next.js");

const handler = server.fetchHandler({ allowedHosts: ["*"] });
export const dynamic = "force-dynamic";
export { handler as DELETE, handler as GET, handler as POST };
