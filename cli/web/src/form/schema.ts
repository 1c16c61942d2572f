// Schemas as the form shows them, and values as they are sent.
import { deepEquals, findSchemaDefinition, getDefaultFormState, type Experimental_DefaultFormStateBehavior, type RJSFSchema } from "@rjsf/utils";
import type { Json, JsonObject } from "../generated/protocol";
import { asText, isObject } from "../words";
import { validator } from "./validator";

/** Nothing is sent that neither the person nor the schema has said. */
export const behavior: Experimental_DefaultFormStateBehavior = {
  emptyObjectFields: "skipEmptyDefaults",
  arrayMinItems: { populate: "requiredOnly" },
  constAsDefaults: "always",
  requiredBooleanDefault: "skip",
};

const NESTED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const PARTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const SINGLE = ["items", "additionalProperties", "not", "if", "then", "else", "contains"];

/**
 * The same schema without unions that a form can do without: an optional member that may be null is
 * left out instead, and several types are a choice of schemas.
 */
export function forForm(schema: JsonObject): JsonObject {
  // The page shows what the whole is.
  const { title: _title, description: _description, ...members } = schema;
  return walk(members, true);
}

function walk(schema: JsonObject, required: boolean): JsonObject {
  const out: JsonObject = { ...schema };
  const names = new Set(Array.isArray(out.required) ? out.required : []);
  for (const key of NESTED) {
    const members = out[key];
    if (!isObject(members)) continue;
    out[key] = mapped(members, (name, one) => walk(one, key !== "properties" || names.has(name)));
  }
  for (const key of PARTS) {
    const parts = out[key];
    if (Array.isArray(parts)) out[key] = parts.map((one) => (isObject(one) ? titled(walk(one, true)) : one));
  }
  for (const key of SINGLE) {
    const one = out[key];
    if (isObject(one)) out[key] = walk(one, true);
  }
  return severalOf(choice(optional(withoutNull(ofAnyType(choice(alone(out))), required), required)));
}

/** A constant that may be left out is a choice of one value, because a constant is always sent. */
function optional(schema: JsonObject, required: boolean): JsonObject {
  const { const: only, ...rest } = schema;
  return only === undefined || required ? schema : { ...rest, enum: [only] };
}

/** A variant is known by its type if it has no title. */
function titled(schema: JsonObject): JsonObject {
  const { title = schema.type, const: only } = schema;
  return typeof title !== "string" || only !== undefined ? schema : { ...schema, title };
}

/** Older generators wrap a reference, so that it can have a description. */
function alone({ allOf, ...rest }: JsonObject): JsonObject {
  if (allOf === undefined) return rest;
  const [only] = Array.isArray(allOf) ? allOf : [];
  return Array.isArray(allOf) && allOf.length === 1 && isObject(only) ? { ...only, ...rest } : { ...rest, allOf };
}

/** Constants with titles are a choice: as variants, the first would be chosen at once. */
function choice(schema: JsonObject): JsonObject {
  for (const key of ["oneOf", "anyOf"]) {
    const { [key]: parts, ...rest } = schema;
    if (!Array.isArray(parts) || !parts.every((one) => isObject(one) && one.const !== undefined)) continue;
    const options = parts.filter(isObject);
    const names = options.map((one) => one.title ?? asText(one.const ?? null));
    return { ...rest, enum: options.map((one) => one.const ?? null), enumNames: names };
  }
  return schema;
}

/** Of a few values, several are checked. */
function severalOf(schema: JsonObject): JsonObject {
  const ofFew = isObject(schema.items) && Array.isArray(schema.items.enum);
  return ofFew ? { ...schema, uniqueItems: true } : schema;
}

/** These say, at least in part, what a value is. */
const TYPING = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "not", "if"];

/** A schema that permits everything has no field of its own. */
function ofAnyType(schema: JsonObject): JsonObject {
  if (TYPING.some((key) => key in schema)) return schema;
  return { ...schema, anyOf: ["string", "number", "boolean"].map((type) => ({ type, title: type })) };
}

function mapped(members: JsonObject, change: (name: string, one: JsonObject) => Json): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, isObject(one) ? change(name, one) : one]));
}

function withoutNull(schema: JsonObject, required: boolean): JsonObject {
  if (Array.isArray(schema.type)) {
    const { type, ...rest } = schema;
    const types = required ? type : type.filter((one) => one !== "null");
    const [only] = types;
    if (types.length === 1 && only !== undefined) return dropNull({ ...rest, type: only });
    return { ...rest, anyOf: types.map((one) => ({ type: one, title: typeof one === "string" ? one : "" })) };
  }
  for (const key of ["anyOf", "oneOf"]) {
    const parts = schema[key];
    if (required || !Array.isArray(parts)) continue;
    const real = parts.filter((one) => !(isObject(one) && one.type === "null"));
    if (real.length === parts.length) continue;
    const { [key]: _parts, ...rest } = schema;
    const [only] = real;
    return dropNull(real.length === 1 && isObject(only) ? { ...only, ...rest } : { ...rest, [key]: real });
  }
  return schema;
}

function dropNull(schema: JsonObject): JsonObject {
  const { default: preset, ...rest } = schema;
  const out = preset === null || preset === undefined ? rest : schema;
  return Array.isArray(out.enum) ? { ...out, enum: out.enum.filter((one) => one !== null) } : out;
}

/** The value of a form as it is sent: without optional members that were left as they were. */
export function filled(value: unknown, schema: JsonObject | null, root: JsonObject): Json | undefined {
  if (typeof value !== "object" || value === null) return value as Json | undefined;
  const { items, properties, required } = resolved(schema ?? {}, root);
  if (Array.isArray(value)) return value.map((one) => filled(one, isObject(items) ? items : null, root) ?? null);
  const members = isObject(properties) ? properties : {};
  const names = Array.isArray(required) ? required : [];
  const out: JsonObject = {};
  for (const [name, one] of Object.entries(value)) {
    const inner = isObject(members[name]) ? members[name] : null;
    const sent = filled(one, inner, root);
    const isLeftOut = inner !== null && !names.includes(name) && isObject(sent) && isPreset(sent, inner, root);
    if (sent !== undefined && !isLeftOut) out[name] = sent;
  }
  return out;
}

const presets = new WeakMap<JsonObject, Json | undefined>();

/**
 * Returns whether nobody has begun an object: it has only what the form presets, and no default of
 * its own.
 */
function isPreset(sent: JsonObject, schema: JsonObject, root: JsonObject): boolean {
  if (Object.keys(sent).length === 0) return true;
  if ("default" in resolved(schema, root)) return false;
  if (!presets.has(schema)) {
    const whole: RJSFSchema = { type: "object", properties: { member: schema } };
    const preset = getDefaultFormState(validator, whole, undefined, root, false, behavior) as JsonObject | undefined;
    presets.set(schema, filled(preset?.member, schema, root));
  }
  return deepEquals(sent, presets.get(schema));
}

/** The schema to which a reference leads. */
const resolved = (schema: JsonObject, root: JsonObject): JsonObject =>
  typeof schema.$ref === "string" ? { ...findSchemaDefinition(schema.$ref, root), ...schema } : schema;
