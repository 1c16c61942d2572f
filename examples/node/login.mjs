// Lists the tools of a server that requires a login: opens the browser and stores the tokens.
import { Client } from "trunkline";

const client = await Client.connect(process.argv[2], { auth: { clientName: "Tool list", store: "file" } });
for (const { name } of await client.listTools()) console.log(name);
await client.close();
