// Tools over an in-memory connection: real envelopes, negotiation, projection and validation.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";

import { type } from "arktype";
import { Client, image, ProtocolError, Server, setLogger, text, ToolError } from "trunkline";
import * as v from "valibot";
import { z } from "zod";

const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const info = { name: "test", version: "1.0.0" };

/** Runs a test with a server and a client of it, and closes both. */
async function connected(register, body, { options, ...connect } = {}) {
  const server = new Server(info, options);
  try {
    register(server);
    const client = await Client.connect(server, connect);
    try {
      return await body(client, server);
    } finally {
      await client.close();
    }
  } finally {
    await server.close();
  }
}

/** Runs something and returns the log records that arrived meanwhile. */
async function logged(body) {
  const records = [];
  setLogger((record) => records.push(record));
  try {
    await body();
    await sleep(20);
  } finally {
    setLogger();
  }
  return records;
}

for (const revision of revisions) {
  test(`list and call in revision ${revision}`, () =>
    connected(
      (server) => server.registerTool("add", { description: "Adds", inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => `${a + b}`),
      async (client) => {
        assert.equal(client.revision, revision);
        // A client pinned to the newest revision sends nothing before its first request.
        if (revision !== "2026-07-28") assert.deepEqual([client.serverInfo.name, typeof client.capabilities.tools], ["test", "object"]);
        const [tool] = await client.listTools();
        assert.deepEqual([tool.name, tool.description, tool.inputSchema.required], ["add", "Adds", ["a", "b"]]);
        assert.deepEqual((await client.callTool("add", { a: 2, b: 3 })).content, [{ type: "text", text: "5" }]);
      },
      { revision },
    ));
}

test("return values become results", async () => {
  const whole = { content: [text("x")], isError: true };
  const rows = [
    ["text", "hi", [text("hi")]],
    ["block", image("AQID", "image/png"), [image("AQID", "image/png")]],
    ["blocks", [text("a"), text("b")], [text("a"), text("b")]],
    ["object", { a: [1] }, [text('{"a":[1]}')]],
    ["number", 1.5, [text("1.5")]],
    ["boolean", true, [text("true")]],
    ["list", [1, "a"], [text('[1,"a"]')]],
    ["null", null, []],
    ["nothing", undefined, []],
    ["mixed", ["caption", image("AQID", "image/png")], [text("caption"), image("AQID", "image/png")]],
    ["set", new Set([1]), [text("[1]")]],
    ["result", whole, whole.content],
  ];
  await connected(
    (server) => {
      for (const [name, value] of rows) {
        server.registerTool(`${name}.now`, {}, () => value);
        server.registerTool(`${name}.later`, {}, async () => value);
      }
    },
    async (client) => {
      for (const [name, , content] of rows) {
        for (const when of ["now", "later"]) {
          const result = await client.callTool(`${name}.${when}`);
          assert.deepEqual(result.content, content, name);
          assert.equal(result.isError ?? false, name === "result", name);
          assert.equal(result.structuredContent, undefined, name);
        }
      }
    },
  );
});

test("the error for an unsendable value names the tool, the file, the line and the path", async (t) => {
  const records = [];
  setLogger((record) => records.push(record.message));
  t.after(() => setLogger());
  await connected(
    (server) => server.registerTool("odd", {}, () => [1, { deep: 1n }]),
    async (client) => {
      assert.equal((await client.callTool("odd")).isError, true);
    },
  );
  const [message] = records.filter((message) => message.includes("odd"));
  assert.match(message, /tool "odd" \(tools\.test\.mjs:\d+\) returned a value that cannot be sent: \$\[1\]\.deep: a bigint/);
  assert.doesNotMatch(message, /\n/);
});

test("the error for an unsendable completion names its argument, the file and the line", async () => {
  const records = await logged(() =>
    connected(
      (server) => {
        server.registerPrompt("plan", { arguments: [{ name: "city" }] }, () => "");
        server.registerCompletion({ type: "ref/prompt", name: "plan" }, "city", () => [1n]);
      },
      (client) => assert.rejects(client.complete({ type: "ref/prompt", name: "plan" }, { name: "city", value: "O" })),
    ),
  );
  assert.match(records.map(({ message }) => message).join("\n"), /the completion of "city" \(tools\.test\.mjs:\d+\) returned a value that cannot be sent: \$\[0\]: a bigint/);
});

test("a result has a text getter", async () => {
  await connected(
    (server) => server.registerTool("two", { outputSchema: z.object({ n: z.number() }) }, () => ({ content: [text("a"), text("b")], structuredContent: { n: 1 } })),
    async (client) => {
      const result = await client.callTool("two");
      assert.equal(result.text, "a\nb");
      assert.ok(!Object.keys(result).includes("text"));
      assert.equal((await client.callTool("two", {}, { result: z.object({ n: z.number() }) })).text, "a\nb");
    },
  );
});

test("options are validated when they are passed, with their names in Node", async () => {
  for (const [options, message] of [
    [{ pagesize: 3 }, "unknown option `pagesize`: did you mean `pageSize`?"],
    [{ pageSize: -3 }, "pageSize: must be a non-negative integer, not -3"],
    [{ pageSize: 0 }, "pageSize: must be 1 or more, not 0"],
    [{ debug: "yes" }, 'debug: must be true or false, not "yes"'],
    [{ maxNesting: 500 }, /^maxNesting: the deepest nesting/],
  ]) {
    assert.throws(() => new Server(info, options), { name: "InvalidArgumentError", message });
  }
  assert.throws(() => new Server({ name: "", version: "1" }), { message: "name must not be empty" });
  const server = new Server(info);
  await assert.rejects(server.listen({ port: "8000" }), { message: 'port: must be a non-negative integer, not "8000": give the number 8000' });
  for (const make of ["handler", "fetchHandler"]) {
    assert.throws(() => server[make]({ allowedHost: ["x"] }), { message: "unknown option `allowedHost`: did you mean `allowedHosts`?" });
    assert.throws(() => server[make]({ idleTimeout: "x" }), /idleTimeout must be a number of milliseconds/);
  }
  const auth = { resource: "http://127.0.0.1:1/mcp", authorizationServers: ["http://127.0.0.1:2"] };
  for (const [options, message] of [
    [{ allowedHosts: ["a", 3] }, "allowedHosts[1]: must be a string, not 3"],
    [{ auth: { ...auth, issuer: 5 } }, "auth.issuer: must be a string or a list, not 5"],
    [{ auth: { ...auth, implies: { readAll: "b" } } }, 'auth.implies.readAll: must be a list, not "b"'],
    [{ auth: { ...auth, strictTyp: true } }, "auth: unknown option `strictTyp`: did you mean `strictType`?"],
    [{ auth: { ...auth, jwksUri: "http://127.0.0.1:2/", jwks: { keys: [] } } }, "auth.jwksUri and `jwks` are mutually exclusive"],
  ]) {
    await assert.rejects(server.listen({ port: 0, ...options }), { kind: "invalidArgument", message });
  }
  for (const [options, message] of [
    [{ headers: { a: 3 } }, "headers.a: must be a string, not 3"],
    [{ roots: [{ uri: 3 }] }, "roots[0].uri: must be a string, not 3"],
  ]) {
    await assert.rejects(Client.connect("http://127.0.0.1:1/mcp", options), { kind: "invalidArgument", message });
  }
  await assert.rejects(Client.connect(server, { maxCacheBytes: -1 }), { message: "maxCacheBytes: must be a non-negative integer, not -1" });
  await server.close();
});

test("a map is structured content, and matches an output schema of type object", async () => {
  await connected(
    (server) => server.registerTool("map", { outputSchema: { type: "object" } }, () => new Map([["a", 1]])),
    async (client) => {
      assert.deepEqual((await client.callTool("map")).structuredContent, { a: 1 });
    },
  );
});

test("the schema library's error messages replace the core's, if it has any", async () => {
  const shape = z.discriminatedUnion("kind", [z.object({ kind: z.literal("circle"), r: z.number() }), z.object({ kind: z.literal("square"), side: z.number() })]);
  const either = z.union([z.object({ kind: z.literal("circle"), r: z.number() }), z.object({ kind: z.literal("square") })]);
  const schema = z.object({
    a: z.string().min(3, "Name needs three letters"),
    s: shape.optional(),
    u: either.optional(),
    when: z.iso.datetime().optional(),
  });
  const rows = [
    [{ a: "ab" }, "/a: Name needs three letters"],
    [{ a: "abc", s: { kind: "circle" } }, "/s/r: Invalid input: expected number, received undefined"],
    [{ a: "abc", u: { kind: "circle" } }, '/u: property "r" is missing'],
    [{ a: "abc", when: "soon" }, "/when: Invalid ISO datetime"],
    [{ a: "ab", when: "soon" }, "/a: Name needs three letters; /when: Invalid ISO datetime"],
    [{}, "/a: Invalid input: expected string, received undefined"],
  ];
  await connected(
    (server) => server.registerTool("words", { inputSchema: schema }, ({ a }) => a),
    async (client) => {
      assert.equal((await client.callTool("words", { a: "abc" })).content[0].text, "abc");
      for (const [args, message] of rows) {
        const result = await client.callTool("words", args);
        assert.equal(result.isError, true);
        assert.equal(result.content[0].text, `Invalid arguments for tool words: ${message}`);
      }
    },
  );
});

test("unknown arguments are refused unless the schema allows them", async () => {
  const shape = { q: z.string(), limit: z.number().default(10) };
  await connected(
    (server) => {
      server.registerTool("search", { inputSchema: z.object(shape) }, ({ q, limit }) => `${q}${limit}`);
      server.registerTool("loose", { inputSchema: z.looseObject(shape) }, (given) => JSON.stringify(given));
    },
    async (client) => {
      const refused = await client.callTool("search", { q: "a", limt: 1 });
      assert.equal(refused.isError, true);
      assert.match(refused.text, /"limt" is not allowed/);
      assert.equal((await client.callTool("search", { q: "a", limit: 1 })).text, "a1");
      assert.equal((await client.callTool("loose", { q: "a", limt: 1 })).text, '{"q":"a","limit":10,"limt":1}');
      const [search] = await client.listTools();
      assert.equal(search.inputSchema.additionalProperties, false);
    },
  );
});

test("an output schema produces structured content, wrapped if it is not an object", async () => {
  const city = z.object({ city: z.string(), unit: z.string().default("C") });
  await connected(
    (server) => {
      server.registerTool("object", { outputSchema: city }, () => ({ city: "Oslo" }));
      server.registerTool("list", { outputSchema: z.array(city) }, () => [{ city: "Oslo" }]);
      server.registerTool("either", { outputSchema: z.union([z.string(), city]) }, () => ({ city: "Oslo" }));
      server.registerTool("text", { outputSchema: { type: "string" } }, () => "warm");
      server.registerTool("whole", { outputSchema: city }, () => ({ content: [text("x")], structuredContent: { city: "a", unit: "b" } }));
    },
    async (client) => {
      const oslo = { city: "Oslo", unit: "C" };
      const structured = async (name) => (await client.callTool(name)).structuredContent;
      assert.deepEqual(await structured("object"), oslo);
      assert.deepEqual(await structured("list"), { result: [oslo] });
      assert.deepEqual(await structured("either"), { result: oslo });
      const either = await client.callTool("either", {}, { result: z.union([z.string(), city]) });
      assert.deepEqual(either.structuredContent, { result: oslo });
      assert.deepEqual(await structured("text"), { result: "warm" });
      assert.deepEqual(await structured("whole"), { city: "a", unit: "b" });
      const tools = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.outputSchema.type), tools.map(() => "object"));
    },
  );
});

test("a schema library may accept arguments that the published schema rejects", () => {
  const inputSchema = z.object({
    n: z.coerce.number().max(9, "At most nine."),
    trimmed: z.preprocess((value) => (typeof value === "number" ? String(value) : value), z.string()).optional(),
    caught: z.enum(["a", "b"]).catch("a"),
    strict: z.string().optional(),
  });
  return connected(
    (server) => server.registerTool("lenient", { inputSchema, task: "optional" }, (args) => args),
    async (client) => {
      for (const [given, got] of [
        [{ n: "5", caught: "x" }, { n: 5, caught: "a" }],
        [{ n: 5, caught: "b", trimmed: 7 }, { n: 5, caught: "b", trimmed: "7" }],
      ]) {
        assert.deepEqual(JSON.parse((await client.callTool("lenient", given)).text), got);
        assert.deepEqual(JSON.parse((await (await client.startTask("lenient", given)).result()).text), got);
      }
      for (const [given, words] of [
        [{ n: "50", caught: "a" }, /: \/n: At most nine\.$/],
        [{ n: "5", caught: "a", strict: 5 }, /: \/strict: Invalid input: expected string, received number$/],
        [{ n: "5", caught: "a", further: 1 }, /further/],
      ]) {
        const { isError, text } = await client.callTool("lenient", given);
        assert.ok(isError && words.test(text), text);
      }
    },
  );
});

// TOOL-13
test("a return value that does not match the output schema fails the call and is logged", async () => {
  const outputSchema = z.object({ n: z.number() });
  const records = await logged(() =>
    connected(
      (server) => {
        server.registerTool("library", { outputSchema }, () => ({ n: "1" }));
        server.registerTool("core", { outputSchema: { type: "object", properties: { n: { type: "number" } } } }, () => ({ n: "1" }));
      },
      async (client) => {
        for (const name of ["library", "core"]) {
          const result = await client.callTool(name).catch((error) => error);
          assert.ok(result.isError === true || result.kind === "protocol", name);
        }
      },
    ),
  );
  const messages = records.map(({ message }) => message).filter((message) => message.includes("/n"));
  assert.equal(messages.length, 2, JSON.stringify(records));
  assert.match(messages[0], /tool "library" \(tools\.test\.mjs:\d+\) returned a value that does not match its output schema: \/n: [^\n]*$/);
});

test("a ToolError reaches the caller", () =>
  connected(
    (server) => {
      server.registerTool("now", {}, () => {
        throw new ToolError("no such city");
      });
      server.registerTool("later", {}, async () => {
        throw new ToolError("no such city");
      });
    },
    async (client) => {
      for (const name of ["now", "later"]) {
        const { content, isError } = await client.callTool(name);
        assert.deepEqual([content, isError], [[text("no such city")], true]);
      }
    },
  ));

test("a ProtocolError with a code becomes that JSON-RPC error", () =>
  connected(
    (server) =>
      server.registerTool("refuse", {}, () => {
        throw new ProtocolError("not today", { code: 4099, data: { again: "tomorrow" } });
      }),
    (client) => assert.rejects(client.callTool("refuse"), { name: "ProtocolError", message: "not today (4099)", code: 4099, data: { again: "tomorrow" } }),
  ));

test("any other failure is hidden from the caller and logged with its stack", async () => {
  const register = (server) => {
    server.registerTool("now", {}, () => {
      throw new TypeError("secret");
    });
    server.registerTool("later", {}, () => Promise.reject(new TypeError("secret")));
    server.registerTool("text", {}, () => {
      throw "secret";
    });
    server.registerTool("function", {}, () => () => "secret");
  };
  const names = ["now", "later", "text", "function"];
  const records = await logged(() =>
    connected(register, async (client) => {
      for (const name of names) {
        const { content, isError } = await client.callTool(name);
        assert.equal(isError, true);
        assert.doesNotMatch(content[0].text, /secret|TypeError/);
      }
    }),
  );
  assert.ok(records.some(({ level, message }) => level === "error" && /TypeError: secret[\s\S]*tools\.test\.mjs/.test(message)), JSON.stringify(records));
  await logged(() =>
    connected(register, async (client) => assert.match((await client.callTool("now")).content[0].text, /secret/), { options: { debug: true } }),
  );
});

const checked = {
  zod: z.object({ city: z.string().refine((city) => city !== "Atlantis", "there is no such city"), days: z.number().default(3) }),
  arktype: type({ city: type.string.narrow((city, ctx) => city !== "Atlantis" || ctx.mustBe("real")), days: "number = 3" }),
  valibot: v.object({ city: v.pipe(v.string(), v.check((city) => city !== "Atlantis", "there is no such city")), days: v.optional(v.number(), 3) }),
};
for (const [library, inputSchema] of Object.entries(checked)) {
  test(`${library}: defaults are applied, and both validations fail alike`, async () => {
    for (const revision of ["2025-06-18", "2025-11-25", "2026-07-28"]) {
      await connected(
        (server) => server.registerTool("forecast", { inputSchema }, ({ city, days }) => `${city} ${days}`),
        async (client) => {
          assert.equal((await client.callTool("forecast", { city: "Oslo" })).content[0].text, "Oslo 3");
          const outcomes = [];
          for (const city of [1, "Atlantis"]) {
            const outcome = await client.callTool("forecast", { city }).catch((error) => error);
            const message = outcome.isError ? outcome.content[0].text : outcome.message;
            assert.match(message, /\/city|city/, `${revision} ${city}`);
            outcomes.push([outcome.kind, outcome.code, outcome.isError, message.slice(0, message.indexOf("city"))]);
          }
          assert.deepEqual(outcomes[0], outcomes[1]);
          assert.deepEqual(outcomes[0].slice(0, 3), revision === "2025-06-18" ? ["protocol", -32602, undefined] : [undefined, undefined, true]);
        },
        { revision },
      );
    }
  });
}

test("an asynchronous validator is awaited", () =>
  connected(
    (server) =>
      server.registerTool("shout", { inputSchema: z.object({ word: z.string().transform(async (word) => word.toUpperCase()) }) }, ({ word }) => word),
    async (client) => assert.equal((await client.callTool("shout", { word: "hi" })).content[0].text, "HI"),
  ));

test("invalid registrations are errors that name the problem", async () => {
  assert.throws(() => new Server({ name: "x" }), { kind: "invalidArgument", message: /version/ });
  const server = new Server(info);
  assert.throws(() => server.registerTool("a", { inputSchema: { type: "nothing" } }, () => 1), { kind: "invalidArgument", message: /type/ });
  assert.throws(() => server.registerTool("a", { inputSchema: { $ref: "https://example.com/schema" } }, () => 1), { kind: "invalidArgument" });
  assert.throws(() => server.registerTool("a", {}, "not a function"), { kind: "invalidArgument", message: /handler of tool "a".*string/ });
  assert.throws(() => new Server(info, { maxRunnin: 1 }), { kind: "invalidArgument", message: /maxRunnin/ });
  server.registerTool("a", {}, () => 1);
  assert.throws(() => server.registerTool("a", {}, () => 1), { kind: "invalidArgument", message: /a/ });
  await assert.rejects(Client.connect(server, { headers: { a: "b" } }), { kind: "invalidArgument", message: /headers/ });
  await assert.rejects(Client.connect(server, { timeOut: 1 }), { kind: "invalidArgument", message: /timeOut/ });
  await assert.rejects(Client.connect(server, { revision: "2025-01-01" }), { kind: "invalidArgument", message: /2025-01-01/ });
  await server.close();
  assert.throws(() => server.registerTool("b", {}, () => 1), { kind: "closed" });
  await assert.rejects(Client.connect(server), { kind: "closed" });
  await assert.rejects(server.listen({ port: 0 }), { kind: "closed" });
  await server.close();
});

test("a server's pages can be listed together or one by one", () =>
  connected(
    (server) => {
      for (let i = 0; i < 5; i++) server.registerTool(`tool${i}`, {}, () => i);
    },
    async (client) => {
      const all = ["tool0", "tool1", "tool2", "tool3", "tool4"];
      assert.deepEqual((await client.listTools()).map(({ name }) => name), all);
      const first = await client.listToolsPage();
      assert.deepEqual(first.tools.map(({ name }) => name), all.slice(0, 2));
      assert.deepEqual((await client.listToolsPage(first.nextCursor)).tools.map(({ name }) => name), all.slice(2, 4));
      await assert.rejects(client.listToolsPage("nonsense"), { name: "ProtocolError", code: -32602 });
    },
    { options: { pageSize: 2 } },
  ));

test("an unknown tool is a protocol error", () =>
  connected(
    () => {},
    (client) => assert.rejects(client.callTool("nothing"), { name: "ProtocolError", code: -32602, message: /nothing/ }),
  ));

test("a handler knows its call", () =>
  connected(
    (server) =>
      server.registerTool("facts", {}, (args, ctx) => ({
        args,
        name: ctx.name,
        revision: ctx.revision,
        client: ctx.clientInfo,
        caps: ctx.clientCapabilities,
        mine: ctx.meta["example.com/mine"],
        wantsProgress: ctx.wantsProgress,
      })),
    async (client) => {
      const facts = async (options) => JSON.parse((await client.callTool("facts", {}, options)).content[0].text);
      const always = { args: {}, name: "facts", revision: "2025-11-25", client: { name: "me", version: "2" }, caps: {} };
      assert.deepEqual(await facts(), { ...always, wantsProgress: false });
      assert.deepEqual(await facts({ meta: { "example.com/mine": [1] }, onProgress: () => {} }), { ...always, mine: [1], wantsProgress: true });
    },
    { revision: "2025-11-25", info: { name: "me", version: "2" } },
  ));

for (const revision of ["2025-06-18", "2026-07-28"]) {
  test(`progress arrives in order and before the result (${revision})`, () => {
    const seen = [];
    return connected(
      (server) =>
        server.registerTool("steps", {}, async (_, ctx) => {
          for (let i = 1; i <= 3; i++) {
            await ctx.progress(i, 3, `step ${i}`);
            // A step that is not read yet would be replaced by the next one.
            while (seen.length < i) await sleep(1);
          }
          await ctx.progress(2);
          return "done";
        }),
      async (client) => {
        await client.callTool("steps", {}, { onProgress: ({ progress, total, message }) => seen.push([progress, total, message]) });
        assert.deepEqual(seen, [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]);
        assert.equal((await client.callTool("steps")).content[0].text, "done");
      },
      { revision },
    );
  });

  test(`cancelling a call aborts the handler's signal (${revision})`, async () => {
    let aborted;
    const stopped = new Promise((resolve) => (aborted = resolve));
    const controller = new AbortController();
    await connected(
      (server) =>
        server.registerTool("wait", {}, async (_, ctx) => {
          ctx.signal.addEventListener("abort", () => aborted(ctx.signal.reason));
          controller.abort(new Error("changed my mind"));
          await sleep(60_000, undefined, { signal: ctx.signal });
        }),
      async (client) => {
        const call = client.callTool("wait", {}, { signal: controller.signal });
        await assert.rejects(call, (error) => error.name === "CancelledError" && error.kind === "cancelled" && error.cause.message === "changed my mind");
        assert.equal((await stopped).name, "AbortError");
        await assert.rejects(client.callTool("wait", {}, { signal: controller.signal }), { name: "CancelledError" });
      },
      { revision },
    );
  });

  test(`a call that takes too long rejects with a TimeoutError and is cancelled (${revision})`, async () => {
    let aborted;
    const stopped = new Promise((resolve) => (aborted = resolve));
    await connected(
      (server) =>
        server.registerTool("wait", {}, async (_, ctx) => {
          await sleep(60_000, undefined, { signal: ctx.signal }).catch(aborted);
        }),
      async (client) => {
        await assert.rejects(client.callTool("wait", {}, { timeout: 1_000 }), { name: "TimeoutError", kind: "timeout" });
        await stopped;
      },
      { revision },
    );
  });
}

test("a signal may cancel many calls and connections without a warning", async (t) => {
  const warnings = [];
  const warned = ({ message }) => warnings.push(message);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const [abort, connecting] = [new AbortController(), new AbortController()];
  await connected(
    (server) => server.registerTool("wait", {}, (_, ctx) => sleep(60_000, undefined, { signal: ctx.signal })),
    async (client, server) => {
      const clients = await Promise.all(Array.from({ length: 11 }, () => Client.connect(server, { signal: connecting.signal })));
      const calls = clients.map((one) => assert.rejects(one.callTool("wait", {}, { signal: abort.signal }), { name: "CancelledError" }));
      await sleep(5);
      abort.abort();
      await Promise.all(calls);
      await Promise.all(clients.map((one) => one.close()));
    },
  );
  assert.deepEqual(warnings, []);
});

test("a signal first accessed after the cancellation is already aborted", async () => {
  let seen;
  const looked = new Promise((resolve) => (seen = resolve));
  let goOn;
  const known = new Promise((resolve) => (goOn = resolve));
  const abort = new AbortController();
  await connected(
    (server) =>
      server.registerTool("wait", {}, async (_, ctx) => {
        abort.abort();
        await known;
        seen(ctx.signal.aborted);
        await ctx.progress(1);
      }),
    async (client) => {
      await assert.rejects(client.callTool("wait", {}, { signal: abort.signal }), { name: "CancelledError" });
      await client.ping(); // the server knows by then
      goOn();
      assert.equal(await looked, true);
    },
  );
});

test("tools can be added and removed while a client is connected, which gets one notification for changes made together", async () => {
  let told = 0;
  let onTold;
  const next = () => new Promise((resolve) => (onTold = resolve));
  const onToolsChanged = () => {
    told++;
    onTold();
  };
  await connected(
    (server) => server.registerTool("first", {}, () => 1),
    async (client, server) => {
      await client.ping();
      let change = next();
      const start = performance.now();
      const late = server.registerTool("late", {}, () => 2);
      server.registerTool("later", {}, () => 3);
      const apart = performance.now() - start;
      await change;
      assert.deepEqual((await client.listTools()).map(({ name }) => name), ["first", "late", "later"]);
      assert.equal((await client.callTool("late")).content[0].text, "2");
      change = next();
      late.remove();
      late.remove();
      await change;
      assert.deepEqual((await client.listTools()).map(({ name }) => name), ["first", "later"]);
      await assert.rejects(client.callTool("late"), { kind: "protocol" });
      // Changes within 5 ms are one notification; a busy machine may keep these apart for longer.
      assert.ok(told === 2 || apart >= 5, `${told} notifications for changes ${apart} ms apart`);
    },
    { revision: "2025-11-25", onToolsChanged },
  );
});

test("concurrent calls each get their own result", () =>
  connected(
    (server) =>
      server.registerTool("echo", {inputSchema: { type: "object", properties: { i: { type: "integer" } } } }, async ({ i }) => {
        if (i % 3 === 0) await sleep(1);
        return String(i);
      }),
    async (client) => {
      const calls = await Promise.all(Array.from({ length: 1000 }, (_, i) => client.callTool("echo", { i })));
      assert.deepEqual(calls.map(({ content }) => content[0].text), calls.map((_, i) => String(i)));
    },
  ));

test("any string arrives unchanged", () =>
  connected(
    (server) => server.registerTool("echo", { inputSchema: { type: "object" } }, ({ text }) => text),
    async (client) => {
      for (const text of ["", "é", "日本語", "😀", "\u0000\u001f", "\u2028", '"\\', "x".repeat(300_000)]) {
        assert.equal((await client.callTool("echo", { text })).content[0].text, text);
      }
    },
  ));

test("requests of a closed client fail as closed", async () => {
  const server = new Server(info);
  server.registerTool("wait", {}, () => sleep(60_000, undefined, { ref: false }));
  const client = await Client.connect(server);
  const ends = [];
  client.on("close", (error) => ends.push(error));
  const call = client.callTool("wait");
  const outcome = assert.rejects(call, { name: "ClosedError", kind: "closed" });
  await Promise.all([client.close(), client.close()]);
  await outcome;
  await client.close();
  await assert.rejects(client.callTool("wait"), { kind: "closed" });
  assert.deepEqual(ends, [undefined]);
  await server.close();
});

test("a server and a client can be disposed of", async () => {
  const server = new Server(info);
  const client = await Client.connect(server);
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await assert.rejects(client.listTools(), { kind: "closed" });
});

const circle = {};
circle.self = circle;
for (const [name, value, message] of [
  ["NaN", [Number.NaN], "$.params.arguments.a[0]: NaN cannot be represented in JSON: give a finite number"],
  ["a bigint", 1n, "$.params.arguments.a: a bigint cannot be represented in JSON: give a number or a string"],
  ["bytes", new Uint8Array([1]), "$.params.arguments.a: bytes cannot be represented in JSON: give a string, such as Base64"],
  ["a promise", Promise.resolve(1), "$.params.arguments.a: a Promise cannot be represented in JSON: await it"],
  ["an error", Object.assign(new Error("x"), { code: "E" }), "$.params.arguments.a: an Error cannot be represented in JSON: give its message"],
  ["a function", () => 1, "$.params.arguments.a: a function cannot be represented in JSON: give data"],
  ["a symbol", Symbol("s"), "$.params.arguments.a: a symbol cannot be represented in JSON: give data"],
  ["a circle", circle, "$.params.arguments.a.self: a circular reference cannot be represented in JSON"],
]) {
  test(`arguments with ${name} are refused with their path`, () =>
    connected(
      () => undefined,
      async (client) => {
        await assert.rejects(client.callTool("echo", { a: value }), { kind: "invalidArgument", message: `the arguments cannot be written as JSON: ${message}` });
      },
    ));
}

test("sets and maps in arguments arrive as arrays and objects, like those that handlers return", () =>
  connected(
    (server) => server.registerTool("echo", { inputSchema: { type: "object" } }, (args) => JSON.stringify(args)),
    async (client) => {
      assert.equal((await client.callTool("echo", { s: new Set([1]), m: new Map([["a", 1]]) })).text, '{"s":[1],"m":{"a":1}}');
    },
  ));

test("messages to the client that cannot be JSON are refused with the path", () =>
  connected(
    (server) =>
      server.registerTool("sends", {}, async (_, ctx) => {
        const unfit = { kind: "invalidArgument" };
        assert.throws(() => ctx.log("info", { n: Number.NaN }), { ...unfit, message: /\$\.log\.data\.n: NaN cannot/ });
        await assert.rejects(ctx.elicit("Who?", { type: "object", properties: { n: { type: "number", default: 1n } } }), { ...unfit, message: /\.n\.default: a bigint cannot/ });
        await assert.rejects(ctx.once("kept", () => ({ at: Promise.resolve() })), { ...unfit, message: /value of once\("kept"\) .* \$\.once\.value\.at: a Promise cannot/ });
        return "refused";
      }),
    async (client) => {
      assert.equal((await client.callTool("sends")).text, "refused");
    },
    { onElicit: () => ({ action: "cancel" }) },
  ));

test("a listener that throws is logged, and the next event still arrives", () =>
  connected(
    (server) =>
      server.registerTool("steps", {}, async (_, ctx) => {
        await ctx.progress(1);
        return "done";
      }),
    async (client) => {
      const onProgress = () => {
        throw new Error("from the listener");
      };
      const records = await logged(async () => assert.equal((await client.callTool("steps", {}, { onProgress })).text, "done"));
      assert.ok(records.some(({ message }) => message.includes("onProgress failed") && message.includes("from the listener")), JSON.stringify(records));
    },
  ));

test("a value described by a schema is neither content nor a complete result, even if it looks like one", () =>
  connected(
    (server) => {
      const outputSchema = z.object({ content: z.array(z.string()), n: z.number().default(5) });
      const token = z.object({ type: z.string(), text: z.string() });
      server.registerTool("token", { outputSchema: token }, () => text("a"));
      server.registerTool("tokens", { outputSchema: z.array(token) }, () => [text("a")]);
      server.registerTool("empty", { outputSchema }, () => ({ content: [] }));
      server.registerTool("document", { outputSchema: z.toJSONSchema(z.object({ content: z.array(token) })) }, () => ({ content: [text("a")] }));
      server.registerTool("failed", { outputSchema }, () => ({ content: [text("no")], isError: true }));
      server.registerTool("texts", { outputSchema }, () => ({ content: ["a"] }));
      server.registerTool("wrong", { outputSchema }, () => ({ content: [1] }));
      server.registerTool("other", { outputSchema: { type: "object" } }, () => ({ id: 7, content: [] }));
    },
    async (client) => {
      assert.deepEqual((await client.callTool("texts")).structuredContent, { content: ["a"], n: 5 });
      assert.deepEqual((await client.callTool("other")).structuredContent, { id: 7, content: [] });
      assert.deepEqual((await client.callTool("token")).structuredContent, text("a"));
      assert.deepEqual((await client.callTool("tokens")).structuredContent, { result: [text("a")] });
      assert.deepEqual((await client.callTool("empty")).structuredContent, { content: [], n: 5 });
      assert.deepEqual((await client.callTool("document")).structuredContent, { content: [text("a")] });
      const failed = await client.callTool("failed");
      assert.deepEqual([failed.isError, failed.text], [true, "no"]);
      const records = await logged(async () => assert.equal((await client.callTool("wrong")).isError, true));
      assert.match(records.map(({ message }) => message).join(), /tool "wrong" \(tools\.test\.mjs:\d+\) returned a value that does not match its output schema: \/content\/0/);
    },
  ));

for (const revision of revisions) {
  test(`a server passes on results of another server to a client of ${revision}`, () =>
    connected(
      (server) => server.registerTool("far", {}, () => ({ content: [text("far")], _meta: { "a.b/c": 1 } })),
      (far) =>
        connected(
          (server) => server.registerTool("near", {}, () => far.callTool("far")),
          async (client) => {
            const { content, _meta, structuredContent } = await client.callTool("near");
            assert.deepEqual([content, _meta["a.b/c"], structuredContent], [[text("far")], 1, undefined]);
          },
          { revision },
        ),
    ));
}

test("a misspelt member of a tool is refused", () => {
  const server = new Server({ name: "t", version: "1" });
  const refusal = { kind: "invalidArgument", message: /unknown member \/descripton: did you mean description\?/ };
  assert.throws(() => server.registerTool("x", { descripton: "?" }, () => ""), refusal);
});

test("a misspelt option of a feature is refused, and the feature is not added", () => {
  const server = new Server({ name: "t", version: "1" });
  for (const [options, member, meant] of [
    [{ scope: ["a"] }, "scope", "scopes"],
    [{ scops: ["a"] }, "scops", "scopes"],
    [{ timout: 3 }, "timout", "timeout"],
    [{ require: { sampling: {} } }, "require", "requires"],
    [{ visibel: true }, "visibel", "visible"],
    [{ enable: false }, "enable", "enabled"],
  ]) {
    const refusal = { kind: "invalidArgument", message: new RegExp(`unknown member /${member}: did you mean ${meant}\\?`) };
    assert.throws(() => server.registerTool("x", options, () => ""), refusal);
    assert.throws(() => server.registerPrompt("x", options, () => ""), refusal);
    assert.throws(() => server.registerResource("x", "test://x", options, () => ""), refusal);
    assert.throws(() => server.registerResource("x", "test://{x}", options, () => ""), refusal);
  }
  assert.throws(() => server.registerPrompt("x", { requires: {} }, () => ""), { kind: "invalidArgument", message: /\/requires in its descriptor/ });
});

test("options of features are validated with their names in Node", () => {
  const server = new Server({ name: "t", version: "1" });
  const add = {
    tool: (options) => server.registerTool("x", options, () => ""),
    resource: (options) => server.registerResource("x", "test://x", options, () => ""),
    template: (options) => server.registerResource("x", "test://{x}", options, () => ""),
    prompt: (options) => server.registerPrompt("x", options, () => ""),
  };
  for (const [kind, options, message] of [
    ["tool", { deferTask: 2 }, "deferTask: must be true or false, not 2"],
    ["tool", { scopes: "mcp" }, 'scopes: must be a list, not "mcp"'],
    ["tool", { scopes: ["mcp", 3] }, "scopes[1]: must be a string, not 3"],
    ["tool", { title: 3 }, "Tool x: title: must be a string, not 3"],
    ["tool", { annotations: { readOnlyHint: "yes" } }, 'Tool x: annotations.readOnlyHint: must be true or false, not "yes"'],
    ["resource", { cacheScope: "all" }, 'cacheScope: must be "private" or "public", not "all"'],
    ["resource", { mimeType: 3 }, "Resource test://x: mimeType: must be a string, not 3"],
    ["template", { unsafePaths: "yes" }, 'unsafePaths: must be true or false, not "yes"'],
    ["prompt", { title: [] }, "Prompt x: title: must be a string, not a list"],
  ]) {
    assert.throws(() => add[kind](options), { kind: "invalidArgument", message });
  }
});
