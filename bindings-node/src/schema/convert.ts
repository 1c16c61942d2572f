// Converts schemas: a JSON Schema is used unchanged, a Standard Schema must be able to produce one.
import { invalid } from "../errors.js";
import type { JsonObject } from "../generated/model.js";
import { installations } from "../native/installations.js";
import type { StandardSchemaV1 } from "./standard-schema.js";

/** A JSON Schema (2020-12 unless `$schema` says otherwise). */
export type JsonSchema = JsonObject & { readonly "~standard"?: never };

/** A schema of a tool's arguments or output. */
export type Schema = StandardSchemaV1 | JsonSchema;

/** The type of a handler's arguments: the output of a Standard Schema. */
export type Arguments<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a JSON Schema says nothing to the compiler
    Record<string, any>;

/** The type of a handler's return value: the input of a Standard Schema. */
export type OutputInput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : unknown;

/** The validation function of a schema library. */
export type Validate = StandardSchemaV1.Props["validate"];

/** The JSON Schema that the core validates, and the library's own validation. */
export interface Converted {
  json: JsonObject;
  validate?: Validate;
  /** The properties of an object schema that was closed here. */
  closed?: JsonObject;
}

/** Converts a schema. `where` names it in errors. */
export function convert(schema: unknown, side: "input" | "output", where: string): Converted {
  if (isStandard(schema)) return { json: fromStandard(schema, side, where), validate: schema["~standard"].validate };
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw invalid(`${where} must be a JSON Schema object or a Standard Schema (zod, arktype, valibot), not ${schema === null ? "null" : typeof schema}`);
  }
  const bare = Object.entries(schema).find(([, value]) => isStandard(value));
  if (bare) throw invalid(`${where} is an object of schemas (${JSON.stringify(bare[0])}): wrap it, as in z.object({ … })${isZod3(bare[1]) ? " of zod 4: these are zod 3 schemas" : ""}`);
  return { json: schema as JsonObject };
}

/** Converts the schema of an object. A union of objects gets the type that libraries leave out. */
export function convertObject(schema: unknown, where: string): Converted {
  const converted = convert(schema, "input", where);
  return converted.validate && !("type" in converted.json) ? { ...converted, json: { type: "object", ...converted.json } } : converted;
}

/** Keywords besides `properties` that allow other members of an object. */
const aboutMembers = ["additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if"];

/**
 * Converts the schema of arguments. A library's object schema that doesn't mention other members is
 * closed, because the library would silently drop them, for example if they are misspelt. A JSON
 * Schema is left as its author wrote it.
 */
export function convertArguments(schema: unknown, where: string): Converted {
  const { json, validate } = convertObject(schema, where);
  if (!validate) return { json };
  // The JSON Schema of a `looseObject` of valibot is that of an `object`.
  const { type, "~standard": library } = schema as StandardSchemaV1 & { type?: unknown };
  const mayBeLoose = library.vendor === "valibot" && type !== "object";
  const isClosed = json["type"] === "object" && "properties" in json && !aboutMembers.some((keyword) => keyword in json) && !mayBeLoose;
  return isClosed ? { json: { ...json, additionalProperties: false }, validate, closed: json["properties"] as JsonObject } : { json, validate };
}

/**
 * Returns whether a schema describes values other than objects, which the core wraps as
 * `{"result": value}`.
 */
export function needsWrap(json: JsonObject): boolean {
  return json["type"] !== "object" && !("properties" in json);
}

const maxIssues = 3;

/**
 * Returns the issues of a validation as a JSON pointer and a message. If there are several, the
 * message contains their paths.
 */
export function issueOf(issues: readonly StandardSchemaV1.Issue[]): { path: string; message: string } {
  const [first, ...others] = issues.slice(0, maxIssues).map(({ path = [], message }) => {
    const keys = path.map((segment) => (typeof segment === "object" ? segment.key : segment));
    return { path: keys.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""), message };
  });
  if (!first) return { path: "", message: "the value does not match its schema" };
  if (others.length === 0) return first;
  return { path: "", message: [first, ...others].map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ") };
}

function isStandard(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || !("~standard" in value)) return false;
  const props = value["~standard"];
  return typeof props === "object" && props !== null && "validate" in props && typeof props.validate === "function";
}

function fromStandard(schema: StandardSchemaV1, side: "input" | "output", where: string): JsonObject {
  const toJsonSchema = converter(schema, side, where);
  try {
    return toJsonSchema();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalid(`${where} cannot be converted to JSON Schema: ${why}. Change that part, or give a JSON Schema instead`, error);
  }
}

function isZod3(schema: unknown): boolean {
  return isStandard(schema) && schema["~standard"].vendor === "zod" && !("_zod" in schema);
}

/**
 * Returns a function that converts a schema to JSON Schema, or throws an error that says what to
 * do.
 */
function converter(schema: StandardSchemaV1, side: "input" | "output", where: string): () => JsonObject {
  const { vendor, jsonSchema } = schema["~standard"];
  const libraryOptions = tolerant[vendor] ?? {};
  if (jsonSchema) return () => jsonSchema[side]({ target: "draft-2020-12", libraryOptions });
  switch (vendor) {
    case "zod": {
      if (isZod3(schema)) throw invalid(`${where} is a zod 3 schema, which cannot be converted to JSON Schema: use zod 4`);
      const toJsonSchema = method(schema, "toJSONSchema") ?? exported("zod", "toJSONSchema")?.bind(undefined, schema);
      if (toJsonSchema) return () => toJsonSchema({ io: side, target: "draft-2020-12" }) as JsonObject;
      throw invalid(`${where}: this version of zod cannot generate JSON Schema: use zod 4.2 or later`);
    }
    case "arktype": {
      const toJsonSchema = method(schema, "toJsonSchema");
      if (toJsonSchema) return () => toJsonSchema(libraryOptions) as JsonObject;
      throw invalid(`${where}: this version of arktype cannot generate JSON Schema: use arktype 2.1.28 or later`);
    }
    case "valibot": {
      const toJsonSchema = exported("@valibot/to-json-schema", "toJsonSchema");
      if (toJsonSchema) return () => toJsonSchema(schema, { typeMode: side, target: "draft-2020-12", ...libraryOptions }) as JsonObject;
      throw invalid(`${where}: valibot needs @valibot/to-json-schema to generate JSON Schema: run npm install @valibot/to-json-schema`);
    }
    default:
      throw invalid(`${where}: ${vendor} cannot generate JSON Schema (no ~standard.jsonSchema): use a version that can, or give a JSON Schema instead`);
  }
}

/**
 * Options that omit custom checks from the JSON Schema instead of failing. The library's own
 * validation still applies them.
 */
const tolerant: Partial<Record<string, Record<string, unknown>>> = {
  arktype: { fallback: { predicate: ({ base }: { base: unknown }) => base } },
  valibot: { overrideAction: ({ errors, jsonSchema }: { errors: unknown; jsonSchema: unknown }) => (errors ? jsonSchema : undefined) },
};

type AnyFunction = (...args: unknown[]) => unknown;

function method(schema: object, name: string): AnyFunction | undefined {
  const found = (schema as Record<string, unknown>)[name];
  return typeof found === "function" ? (found.bind(schema) as AnyFunction) : undefined;
}

/** Returns a function of an optional package. */
function exported(packageName: string, name: string): AnyFunction | undefined {
  for (const found of installations(packageName)) if (name in found) return method(found, name);
  return undefined;
}
