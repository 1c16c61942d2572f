// What a handler returned, as a shape and the bytes of that shape. The core turns it into a result.
import { isContentBlock } from "./content.js";

/** The shapes of answers, by the numbers of the contract. */
export const Shape = { Text: 0, Content: 1, Object: 2, Value: 3, Result: 4 } as const;

/** Throws a TypeError if the value cannot be JSON. `wrapped`: the tool's output schema describes a value that is not an object. */
export function shapeOf(returned: unknown, wrapped: boolean): [shape: number, body: string] {
  const value = plain(returned);
  if (typeof value === "string") return [Shape.Text, value];
  if (typeof value !== "object" || value === null) return [Shape.Value, json(value ?? null)];
  if (isContentBlock(value) || (Array.isArray(value) && value.length > 0 && value.every(isContentBlock))) return [Shape.Content, json(value)];
  if (isResult(value)) return [Shape.Result, json(value)];
  if (Array.isArray(value) || returned instanceof Map || wrapped) return [Shape.Value, json(value)];
  return [Shape.Object, json(value)];
}

/** What stands for the value in JSON: objects may say so themselves, and a Map, unlike in plain JSON.stringify, keeps its entries. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Map) return Object.fromEntries(value);
  return "toJSON" in value && typeof value.toJSON === "function" ? (value.toJSON as (key: string) => unknown)("") : value;
}

function isResult(value: object): boolean {
  return "content" in value && Array.isArray(value.content) && value.content.every(isContentBlock);
}

function json(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a handler returned a ${typeof value}, which has no JSON form`);
  return text;
}
