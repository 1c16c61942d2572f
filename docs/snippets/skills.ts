// An agent skill: instructions served to clients, and a client that loads them.
import { Client, Server } from "trunkline";

const manifest = `---
name: packing
description: How to pack for a trip.
---
Ask for the forecast first.
`;

const server = new Server({ name: "trips", version: "1.0.0" });
server.registerSkill({ "SKILL.md": manifest }); // or the path of a folder

await using client = await Client.connect(server);
for (const skill of await client.listSkills()) {
  console.log(`${skill.frontmatter["name"]}: ${skill.frontmatter["description"]}`);
  const loaded = await client.loadSkill(skill);
  if ("text" in loaded) console.log(loaded.text.split("---").at(-1)?.trim());
}
