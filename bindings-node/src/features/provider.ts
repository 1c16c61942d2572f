// Providers, which list features that are not registered.
import type { Context } from "../context.js";
import { checkFunction, invalid } from "../errors.js";
import type { JsonObject } from "../generated/model.js";
import type { Category, ListItems } from "../generated/operations.js";
import { checkNames } from "../option-names.js";
import { answerOf, valueOf, type Answer } from "../returns.js";
import type { Feature } from "./feature.js";
import { promptParts } from "./prompt.js";
import { resourceParts } from "./resource.js";
import { toolParts } from "./tool.js";

interface Params {
  tools: { name: string; arguments?: JsonObject; _meta?: JsonObject };
  resources: { uri: string; _meta?: JsonObject };
  resourceTemplates: { uri: string; _meta?: JsonObject };
  prompts: { name: string; arguments?: Record<string, string>; _meta?: JsonObject };
}

/** A page of a provider: its items, and a cursor unless it is the last page. */
export type Page<T> = readonly T[] | { items: readonly T[]; nextCursor?: string | undefined };

/**
 * Lists and serves features that are not registered, such as rows of a database. Arguments of a
 * tool are validated against its listed schema only if the caller has listed it, and scopes are not
 * checked: `get` must check them itself.
 */
export interface Provider<C extends Category = Category> {
  /** Lists a page; `cursor` is the `nextCursor` of the previous page, undefined for the first. */
  list(cursor: string | undefined, context: Context): Page<ListItems[C]> | Promise<Page<ListItems[C]>>;
  /**
   * Calls the tool, reads the resource (including those of a listed template, through the provider
   * of `resources`) or fills in the prompt, and returns a value as a handler does. Return
   * `undefined` or `null` if there is no such feature.
   */
  get?(params: Params[C], context: Context): unknown;
}

type Body = { list: { cursor?: string } } | { get: never };

const parts = { tools: toolParts, resources: resourceParts, resourceTemplates: resourceParts, prompts: promptParts };

export function providerFeature<C extends Category>(category: C, provider: Provider<C>): Feature {
  const { list, get } = Object(provider) as Record<"list" | "get", unknown>;
  if (typeof list !== "function") throw invalid("a provider needs the function list");
  if (get !== undefined) checkFunction(get, "the get of a provider");
  // A plain object must not have other members.
  if (Object.getPrototypeOf(provider) === Object.prototype) checkNames(provider, ["list", "get"]);
  const answerList = async (cursor: string | undefined, context: Context): Promise<Answer> => {
    const page: Page<unknown> = await provider.list(cursor, context);
    return valueOf(Array.isArray(page) ? { items: page as unknown[] } : page);
  };
  return {
    kind: "provider",
    description: { of: category },
    callable: {
      run: (body: Body, context) => ("list" in body ? answerList(body.list.cursor, context) : provider.get?.(body.get, context)),
      answer: (returned) => answerOf(returned, parts[category]),
    },
  };
}
