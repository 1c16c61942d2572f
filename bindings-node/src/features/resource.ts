// Resources and resource templates.
import { base64 } from "../content.js";
import type { Context } from "../context.js";
import { invalid } from "../errors.js";
import type { JsonObject, Resource } from "../generated/model.js";
import { resourceOptionsNames, resourceOptionsTimes, type ResourceOptions as GeneratedOptions } from "../generated/options.js";
import { answerOf, resultMembers, type Parts } from "../returns.js";
import { completersOf, type Completions } from "./completion.js";
import { checkHandler, partsOf, type Callable, type Feature, type VisibleOption } from "./feature.js";

/** The definition of a resource or resource template. */
export interface ResourceOptions extends Omit<Resource, "uri" | "name">, GeneratedOptions, VisibleOption {
  /** For templates: completions of variables, by name. */
  complete?: Completions | undefined;
}

/**
 * The contents of a resource. `uri` and `mimeType` default to those of the resource; a blob is
 * bytes or a base64 string.
 */
export type GivenContents = { uri?: string | undefined; mimeType?: string | undefined; _meta?: JsonObject | undefined } & (
  | { text: string; blob?: undefined }
  | { blob: string | Uint8Array; text?: undefined }
);

/**
 * Returns the contents of a resource. A string becomes text (`text/plain` without a `mimeType`),
 * bytes become a blob; use {@link GivenContents} or an array of them for more control. `{ contents:
 * [...] }` is sent as it is. Any other value is encoded as JSON. The handler of a template also
 * gets the variables of the URI.
 */
export type ResourceHandler<U extends string = string> = string extends U
  ? // The compiler cannot tell whether the URI has variables, which come before the context.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any -- they are either
    (uri: string, ...rest: any[]) => unknown
  : U extends `${string}{${string}`
    ? (uri: string, variables: Variables<U>, context: Context) => unknown
    : (uri: string, context: Context) => unknown;

/** The variables of a URI template. Variables in `?`, `&` and `;` expressions are optional. */
export type Variables<U extends string> = string extends U ? Record<string, string> : Flat<VariablesOf<U>>;

type VariablesOf<U extends string> = U extends `${string}{${infer E}}${infer Rest}` ? OfExpression<E> & VariablesOf<Rest> : unknown;
type OfExpression<E extends string> = E extends `${"?" | "&" | ";"}${infer List}`
  ? Partial<Record<Names<List>, string>>
  : E extends `${"+" | "#" | "." | "/"}${infer List}`
    ? Record<Names<List>, string>
    : Record<Names<E>, string>;
type Names<List extends string> = List extends `${infer N},${infer Rest}` ? Bare<N> | Names<Rest> : Bare<List>;
type Bare<N extends string> = N extends `${infer B}*` ? B : N extends `${infer B}:${string}` ? B : N;
type Flat<T> = { [K in keyof T]: T[K] };

/** Contents of resources, in `contents`. */
export const resourceParts: Parts = { part: contentsOf, member: "contents", others: new Set(["ttlMs", "cacheScope", ...resultMembers]) };

/** Changes to a resource or resource template. */
export type ResourceChanges = ResourceOptions & { name: string; uri: string };

export function resourceFeature({ name, uri, complete, ...rest }: ResourceChanges, handler: (uri: string, ...rest: never[]) => unknown): Feature {
  const { options, members, visible } = partsOf(rest, resourceOptionsNames, resourceOptionsTimes);
  const noun = `resource ${JSON.stringify(name)}`;
  checkHandler(handler, noun);
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-conversion -- untyped programs pass URL objects, and values that the core refuses
  const isTemplate = String(uri).includes("{");
  const misplaced = complete !== undefined ? "complete" : rest.unsafePaths !== undefined ? "unsafePaths" : undefined;
  if (!isTemplate && misplaced !== undefined) throw invalid(`${noun}: ${misplaced} is only for templates: ${uri} has no variables`);
  const call = handler as (uri: string, ...rest: unknown[]) => unknown;
  const callable: Callable = {
    run: ({ uri, variables }: { uri: string; variables: unknown }, context) => (isTemplate ? call(uri, variables, context) : call(uri, context)),
    answer: (returned) => answerOf(returned, resourceParts),
  };
  const descriptor = isTemplate ? { resourceTemplate: { uriTemplate: uri, name, ...members } } : { resource: { uri, name, ...members } };
  const completers = isTemplate ? completersOf(complete) : undefined;
  return { kind: isTemplate ? "resourceTemplate" : "resource", name: noun, description: { ...descriptor, ...options }, callable, visible, completers };
}

const contentMembers = new Set(["uri", "mimeType", "text", "blob", "_meta"]);

/**
 * Returns the contents that a value represents: bytes, or an object with only members of contents.
 */
function contentsOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return { blob: base64(value) };
  if (typeof value !== "object" || value === null || !Object.keys(value).every((key) => contentMembers.has(key))) return undefined;
  const { text, blob } = value as { text?: unknown; blob?: unknown };
  if (typeof text === "string" && blob === undefined) return value;
  if (text === undefined && (typeof blob === "string" || blob instanceof Uint8Array)) return { ...value, blob: base64(blob) };
  return undefined;
}
