import assert from "node:assert/strict";
import { Blob } from "node:buffer";
import { test } from "node:test";

import { audio, image, link, resource, text } from "../dist/esm/content.js";
import { toolParts } from "../dist/esm/features/tool.js";
import { Shape } from "../dist/esm/generated/waist.js";
import { UnfitValue } from "../dist/esm/json.js";
import { Answer, answerOf } from "../dist/esm/returns.js";

const block = { type: "text", text: "x" };
const rows = [
  ["a string", "hi", Shape.Text, "hi"],
  ["the empty string", "", Shape.Text, ""],
  ["a content block", block, Shape.Content, JSON.stringify(block)],
  ["content blocks", [block, block], Shape.Content, JSON.stringify([block, block])],
  ["an object", { a: 1 }, Shape.Object, '{"a":1}'],
  ["an object with a type that is not a content", { type: "text", n: 1 }, Shape.Object, '{"type":"text","n":1}'],
  ["a number", 1.5, Shape.Value, "1.5"],
  ["a boolean", false, Shape.Value, "false"],
  ["null", null, Shape.Value, "null"],
  ["nothing", undefined, Shape.Value, "null"],
  ["a content block among texts", ["a", block, "b"], Shape.Content, JSON.stringify([text("a"), block, text("b")])],
  ["a set", new Set([1, "a"]), Shape.Value, '[1,"a"]'],
  ["a map and a set inside", { m: new Map([["a", null]]), s: [new Set([1])] }, Shape.Object, '{"m":{"a":null},"s":[[1]]}'],
  ["an object without members", {}, Shape.Object, "{}"],
  ["objects of classes", [new (class A { a = null; })(), new (class B {})()], Shape.Value, '[{"a":null},{}]'],
  ["text with what is suspicious", { a: '{} null "0": "Buffer"', b: new Date(0), c: undefined }, Shape.Object, JSON.stringify({ a: '{} null "0": "Buffer"', b: new Date(0) })],
  ["a result of texts and blocks", { content: ["a", block] }, Shape.Result, JSON.stringify({ content: [text("a"), block] })],
  ["an array", [1, "a"], Shape.Value, '[1,"a"]'],
  ["the empty array", [], Shape.Value, "[]"],
  ["an array that is only partly content", [block, 1], Shape.Value, JSON.stringify([block, 1])],
  ["a map", new Map([["a", 1]]), Shape.Object, '{"a":1}'],
  ["a result", { content: [block], isError: true }, Shape.Result, JSON.stringify({ content: [block], isError: true })],
  ["an empty result", { content: [] }, Shape.Result, '{"content":[]}'],
  ["a result with everything", { content: [block], structuredContent: { a: 1 }, isError: false, _meta: {}, resultType: "complete" }, Shape.Result, JSON.stringify({ content: [block], structuredContent: { a: 1 }, isError: false, _meta: {}, resultType: "complete" })],
  ["an object with other members beside content", { id: 7, content: [] }, Shape.Object, '{"id":7,"content":[]}'],
  ["an object whose content is something else", { content: ["a"] }, Shape.Object, '{"content":["a"]}'],
  ["a boxed string", new String("hi"), Shape.Text, "hi"],
  ["functions and symbols inside of an object", { a: 1, f() {}, s: Symbol("s") }, Shape.Object, '{"a":1}'],
  ["what stands for itself as a string", new Date(0), Shape.Text, "1970-01-01T00:00:00.000Z"],
  ["what stands for itself as an object", { toJSON: () => ({ b: 2 }) }, Shape.Object, '{"b":2}'],
];
for (const [name, value, shape, body] of rows) {
  test(`${name} is shape ${shape}`, () => {
    assert.deepEqual(answerOf(value, toolParts), new Answer(shape, body));
  });
}

test("an object under a wrapped output schema is a value", () => {
  assert.deepEqual(answerOf({ a: 1 }, toolParts, { wrapped: true }), new Answer(Shape.Value, '{"a":1}'));
});

const circle = { a: [] };
circle.a.push(circle);
const unfit = [
  ["a function", () => {}, "$: a function cannot be represented in JSON: return data"],
  ["a symbol", Symbol("s"), "$: a symbol cannot be represented in JSON: return data"],
  ["a bigint", { a: [1n] }, "$.a[0]: a bigint cannot be represented in JSON: return a number or a string"],
  ["a circle", circle, "$.a[0]: a circular reference cannot be represented in JSON"],
  ["NaN in the form of a value", { a: { toJSON: () => ({ n: Number.NaN }) } }, "$.a.n: NaN cannot be represented in JSON: return null or a string"],
  ["NaN", { a: { b: Number.NaN } }, "$.a.b: NaN cannot be represented in JSON: return null or a string"],
  ["Infinity", [-Infinity], "$[0]: -Infinity cannot be represented in JSON"],
  ["a Map with an object as its key", { a: new Map([[{ id: 1 }, "x"]]) }, "$.a: a Map with objects as keys cannot be represented in JSON: use strings"],
  ["bytes", new Uint8Array([1]), "$: bytes cannot be represented in JSON: use image(bytes, type)"],
  ["a Buffer", { a: Buffer.from("x") }, "$.a: bytes cannot be represented in JSON: use image(bytes, type)"],
  ["numbers", [new Float64Array(2)], "$[0]: a Float64Array cannot be represented in JSON"],
  ["a buffer", new ArrayBuffer(1), "$: an ArrayBuffer cannot be represented in JSON"],
  ["an error", Object.assign(new RangeError("x"), { code: "E" }), "$: a RangeError cannot be represented in JSON: throw it"],
  ["an error with members, inside", { e: Object.assign(new Error("no such file"), { code: "ENOENT" }) }, "$.e: an Error cannot be represented in JSON: throw it"],
  ["a boxed bigint", [Object(1n)], "$[0]: a bigint cannot be represented in JSON"],
  ["an invalid date", { at: new Date(Number.NaN) }, "$.at: an invalid Date cannot be represented in JSON: return null or a string"],
  ["a Blob", new Blob(["x"]), "$: a Blob cannot be represented in JSON: return its contents"],
  ["a Response", [new Response("x")], "$[0]: a Response cannot be represented in JSON"],
  ["a promise inside", [Promise.resolve(1)], "$[0]: a Promise cannot be represented in JSON: await it"],
  ["a generator", (function* () {})(), "$: a Generator cannot be represented in JSON: return an array"],
  ["an async generator", (async function* () {})(), "$: an AsyncGenerator cannot be represented in JSON: return an array"],
];
for (const [name, value, message] of unfit) {
  test(`${name} is refused with its path and a remedy`, () => {
    assert.throws(
      () => answerOf(value, toolParts),
      (error) => error instanceof UnfitValue && error.message.startsWith(message),
    );
  });
}

test("content helpers", () => {
  const bytes = new Uint8Array([0, 1, 2, 3]).subarray(1);
  assert.deepEqual(text("x", { annotations: { priority: 1 } }), { type: "text", text: "x", annotations: { priority: 1 } });
  assert.deepEqual(image(bytes, "image/png"), { type: "image", data: "AQID", mimeType: "image/png" });
  assert.deepEqual(audio("AQID", "audio/wav"), { type: "audio", data: "AQID", mimeType: "audio/wav" });
  assert.deepEqual(resource("a://b", "t", "text/plain"), { type: "resource", resource: { uri: "a://b", mimeType: "text/plain", text: "t" } });
  assert.deepEqual(resource("a://b", bytes), { type: "resource", resource: { uri: "a://b", blob: "AQID" } });
  assert.deepEqual(link("a://b", "b", { size: 3 }), { type: "resource_link", uri: "a://b", name: "b", size: 3 });
});
