import assert from "node:assert/strict";
import { test } from "node:test";

import { audio, image, link, resource, text } from "../dist/content.js";
import { toolParts } from "../dist/features/tool.js";
import { Shape } from "../dist/generated/waist.js";
import { answerOf } from "../dist/returns.js";

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
  ["an array", [1, "a"], Shape.Value, '[1,"a"]'],
  ["the empty array", [], Shape.Value, "[]"],
  ["an array that is only partly content", [block, 1], Shape.Value, JSON.stringify([block, 1])],
  ["a map", new Map([["a", 1]]), Shape.Value, '{"a":1}'],
  ["a result", { content: [block], isError: true }, Shape.Result, JSON.stringify({ content: [block], isError: true })],
  ["an empty result", { content: [] }, Shape.Result, '{"content":[]}'],
  ["a result with everything", { content: [block], structuredContent: { a: 1 }, isError: false, _meta: {}, resultType: "complete" }, Shape.Result, JSON.stringify({ content: [block], structuredContent: { a: 1 }, isError: false, _meta: {}, resultType: "complete" })],
  ["an object with other members beside content", { id: 7, content: [] }, Shape.Object, '{"id":7,"content":[]}'],
  ["an object whose content is something else", { content: ["a"] }, Shape.Object, '{"content":["a"]}'],
  ["what stands for itself as a string", new Date(0), Shape.Text, "1970-01-01T00:00:00.000Z"],
  ["what stands for itself as an object", { toJSON: () => ({ b: 2 }) }, Shape.Object, '{"b":2}'],
];
for (const [name, value, shape, body] of rows) {
  test(`${name} is shape ${shape}`, () => {
    assert.deepEqual(answerOf(value, toolParts), [shape, body]);
  });
}

test("an object under a wrapped output schema is a value", () => {
  assert.deepEqual(answerOf({ a: 1 }, toolParts, true), [Shape.Value, '{"a":1}']);
});

test("what has no JSON form is refused with a reason", () => {
  assert.throws(() => answerOf(() => {}, toolParts), /returned a function/);
  assert.throws(() => answerOf(Symbol("s"), toolParts), /returned a symbol/);
  assert.throws(() => answerOf(1n, toolParts), TypeError);
  const circle = {};
  circle.self = circle;
  assert.throws(() => answerOf(circle, toolParts), /circular/);
});

test("content helpers", () => {
  const bytes = new Uint8Array([0, 1, 2, 3]).subarray(1);
  assert.deepEqual(text("x", { annotations: { priority: 1 } }), { type: "text", text: "x", annotations: { priority: 1 } });
  assert.deepEqual(image(bytes, "image/png"), { type: "image", data: "AQID", mimeType: "image/png" });
  assert.deepEqual(audio("AQID", "audio/wav"), { type: "audio", data: "AQID", mimeType: "audio/wav" });
  assert.deepEqual(resource("a://b", "t", "text/plain"), { type: "resource", resource: { uri: "a://b", mimeType: "text/plain", text: "t" } });
  assert.deepEqual(resource("a://b", bytes), { type: "resource", resource: { uri: "a://b", blob: "AQID" } });
  assert.deepEqual(link("a://b", "b", { size: 3 }), { type: "resource_link", uri: "a://b", name: "b", size: 3 });
});
