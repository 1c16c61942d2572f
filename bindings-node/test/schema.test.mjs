import assert from "node:assert/strict";
import { test } from "node:test";

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";

import { convert, convertArguments, issueOf, needsWrap } from "../dist/esm/schema/convert.js";

const where = 'the inputSchema of tool "forecast"';

test("zod: input side leaves defaults optional, output side requires them", () => {
  const schema = z.object({ city: z.string().describe("Where"), days: z.number().default(3) });
  const { json, validate } = convert(schema, "input", where);
  assert.equal(json.type, "object");
  assert.deepEqual(json.required, ["city"]);
  assert.deepEqual(json.properties.city, { type: "string", description: "Where" });
  assert.deepEqual(validate({ city: "Oslo" }).value, { city: "Oslo", days: 3 });
  assert.deepEqual(convert(schema, "output", where).json.required, ["city", "days"]);
});

test("zod without ~standard.jsonSchema: its own toJSONSchema is used", () => {
  const schema = z.object({ city: z.string() });
  const { validate, vendor, version } = schema["~standard"];
  const older = { "~standard": { validate, vendor, version }, _zod: schema._zod, toJSONSchema: schema.toJSONSchema.bind(schema) };
  assert.deepEqual(convert(older, "input", where).json.required, ["city"]);
});

test("arktype, through Standard JSON Schema and its own method", () => {
  const schema = type({ city: "string", days: "number = 3" });
  assert.deepEqual(convert(schema, "input", where).json.required, ["city"]);
  const { validate, vendor, version } = schema["~standard"];
  const older = Object.assign(() => {}, { "~standard": { validate, vendor, version }, toJsonSchema: () => type({ city: "string" }).toJsonSchema() });
  assert.deepEqual(convert(older, "input", where).json.required, ["city"]);
});

test("valibot, plain and through Standard JSON Schema", () => {
  const schema = v.object({ city: v.string(), days: v.optional(v.number(), 3) });
  for (const given of [schema, toStandardJsonSchema(schema)]) {
    const { json, validate } = convert(given, "input", where);
    assert.equal(json.type, "object");
    assert.deepEqual(json.required, ["city"]);
    assert.deepEqual(validate({ city: "Oslo" }).value, { city: "Oslo", days: 3 });
  }
});

test("checks written in code are left to the library", () => {
  const checked = [
    z.object({ city: z.string().refine((city) => city !== "x") }),
    type({ city: type.string.narrow((city) => city !== "x") }),
    v.object({ city: v.pipe(v.string(), v.check((city) => city !== "x")) }),
    toStandardJsonSchema(v.object({ city: v.pipe(v.string(), v.check((city) => city !== "x")) })),
  ];
  for (const schema of checked) {
    const { json, validate } = convert(schema, "input", where);
    assert.equal(json.properties.city.type, "string");
    assert.ok(validate({ city: "x" }).issues);
  }
});

test("a plain JSON Schema is used unchanged, without a validator", () => {
  const schema = { type: "object", properties: { "~x": {} }, $defs: {} };
  const converted = convert(schema, "input", where);
  assert.equal(converted.json, schema);
  assert.equal(converted.validate, undefined);
});

test("a union of objects as arguments gets the type object", () => {
  const union = z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]);
  assert.equal(convertArguments(union, where).json.type, "object");
});

test("argument objects that do not mention other members are closed", () => {
  const [city, a] = [{ city: z.string() }, { a: z.number() }];
  for (const [schema, further] of [
    [z.object(city), false],
    [z.object(city).refine(() => true), false],
    [z.intersection(z.object(city), z.object(a)), false],
    [z.object({}), false],
    [z.strictObject(city), false],
    [z.looseObject(city), {}],
    [z.object(city).passthrough(), {}],
    [z.object(city).catchall(z.number()), { type: "number" }],
    [z.record(z.string(), z.number()), { type: "number" }],
    [z.union([z.object(city), z.object(a)]), undefined],
    [z.any(), undefined],
    [type({ city: "string" }), false],
    [type({ city: "string", "[string]": "unknown" }), {}],
    [v.object({ city: v.string() }), false],
    [v.strictObject({ city: v.string() }), false],
    [v.looseObject({ city: v.string() }), undefined],
    [v.pipe(v.looseObject({ city: v.string() }), v.check(() => true)), undefined],
    [toStandardJsonSchema(v.looseObject({ city: v.string() })), undefined],
    [{ type: "object", properties: {} }, undefined],
  ]) {
    assert.deepEqual(convertArguments(schema, where).json.additionalProperties, further, JSON.stringify(convert(schema, "input", where).json));
  }
  // Answers of peers and forms may have more.
  assert.equal("additionalProperties" in convert(z.object(city), "input", where).json, false);
});

const standard = (vendor, more = {}) => ({ "~standard": { version: 1, vendor, validate: (value) => ({ value }) }, ...more });
const refused = [
  ["zod 3", standard("zod"), /tool "forecast" is a zod 3 schema.*use zod 4/],
  ["an old arktype", standard("arktype"), /arktype 2\.1\.28 or later/],
  ["a library without JSON Schema", standard("acme"), /acme cannot generate JSON Schema.*give a JSON Schema instead/],
  ["an object of schemas", { city: z.string() }, /object of schemas \("city"\): wrap it, as in z\.object/],
  ["an object of schemas of zod 3", { city: standard("zod") }, /wrap it, as in z\.object\({ … }\) of zod 4: these are zod 3 schemas/],
  ["a string", "object", /must be a JSON Schema object or a Standard Schema \(zod, arktype, valibot\), not string/],
  ["null", null, /not null/],
  ["a type without JSON form", z.object({ when: z.date() }), /cannot be converted to JSON Schema: Date cannot be represented/],
];
for (const [name, schema, message] of refused) {
  test(`refused with a remedy: ${name}`, () => {
    assert.throws(() => convert(schema, "input", where), { name: "InvalidArgumentError", kind: "invalidArgument", message });
  });
}

test("the core must wrap values whose schema is not that of an object", () => {
  assert.equal(needsWrap({ type: "object" }), false);
  assert.equal(needsWrap({ type: "array" }), true);
  assert.equal(needsWrap({ $ref: "#/$defs/a" }), true);
});

test("an issue names its path as a JSON pointer, whatever the library calls its segments", () => {
  assert.deepEqual(issueOf([{ message: "too short", path: ["a/b", { key: 0 }, "c~d"] }]), { path: "/a~1b/0/c~0d", message: "too short" });
  assert.deepEqual(issueOf([{ message: "wrong" }]), { path: "", message: "wrong" });
  assert.equal(issueOf(z.object({ city: z.string() })["~standard"].validate({ city: 1 }).issues).path, "/city");
  assert.equal(issueOf(v.object({ city: v.string() })["~standard"].validate({ city: 1 }).issues).path, "/city");
  assert.equal(issueOf(type({ city: "string" })["~standard"].validate({ city: 1 }).issues).path, "/city");
});
