// A test of a tool that asks the user, with scripted answers.
import assert from "node:assert/strict";

import { Client, type ElicitResult, Server } from "trunkline";
import { z } from "zod";

// Reruns handlers that ask, on every revision: this reveals effects before a question.
const server = new Server({ name: "restaurant", version: "1.0.0" }, { rerunHandlers: true });

server.registerTool("book", { description: "Book a table." }, async (_, ctx) => {
  const { action, content } = await ctx.elicit("A table for how many?", z.object({ people: z.int() }));
  return action === "accept" ? `A table for ${content.people} is booked.` : "Nothing was booked.";
});

const answers: ElicitResult[] = [{ action: "accept", content: { people: 4 } }, { action: "decline" }];
const asked: string[] = [];
await using client = await Client.connect(server, {
  raiseExceptions: true,
  onElicit: ({ message }) => {
    asked.push(message);
    const answer = answers.shift();
    assert.ok(answer, `there is no answer left for "${message}"`);
    return answer;
  },
});
for (const expected of ["A table for 4 is booked.", "Nothing was booked."]) {
  assert.equal((await client.callTool("book")).text, expected);
}
assert.deepEqual([asked.length, answers], [2, []]);
console.log("all passed");
