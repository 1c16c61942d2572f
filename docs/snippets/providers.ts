// Table rows as resources: listed page by page and read on request.
import { Client, Server } from "trunkline";

const rows = new Map([1, 2, 3, 4, 5].map((number) => [`rows://${number}`, `value ${number}`]));
const pageSize = 2;

const server = new Server({ name: "table", version: "1.0.0" });

server.registerProvider("resources", {
  list(cursor = "0") {
    const end = Number(cursor) + pageSize;
    const items = [...rows.keys()].slice(end - pageSize, end).map((uri) => ({ uri, name: `row ${uri.slice(7)}` }));
    return end < rows.size ? { items, nextCursor: String(end) } : items;
  },
  get: ({ uri }) => rows.get(uri),
});

await using client = await Client.connect(server);
console.log((await client.listResources()).map(({ name }) => name).join(", "));
const { contents: [first] } = await client.readResource("rows://4");
if (first && "text" in first) console.log(first.text);
