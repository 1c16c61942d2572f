// Where the person is: `#/tools/get-sum?a=1`.
import { cell } from "./cell";
import { serverOf } from "./program";
import { parsed } from "./words";
import type { JsonObject } from "./generated/protocol";

export const PAGES = ["server", "tools", "resources", "prompts", "tasks", "apps", "skills", "login", "lint"] as const;
export type Page = (typeof PAGES)[number];

export interface Place {
  server: string | null;
  page: Page;
  /** The tool, resource or prompt that is open. */
  item: string | null;
  query: string;
}

function read(): Place {
  const [path = "", query = ""] = location.hash.slice(1).split("?", 2);
  const [, page, item] = path.replace(/^\/@[^/]*/, "").split("/");
  const known = PAGES.find((one) => one === page) ?? "server";
  return { server: serverOf(), page: known, item: item === undefined || item === "" ? null : decoded(item), query };
}

/** Not the address that a call writes, but the last one that was gone to. */
const place = cell(read());
addEventListener("hashchange", () => {
  // Nothing of one server may stay on the page of another.
  if (serverOf() === place.get().server) place.set(read());
  else location.reload();
});

export const usePlace = (): Place => place.useValue((now) => now);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function linkTo(page: Page, item?: string | null, values?: JsonObject): string {
  const path = item === null || item === undefined ? page : `${page}/${encodeURIComponent(item)}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values ?? {})) {
    query.set(name, typeof value === "string" && parsed(value) === undefined ? value : JSON.stringify(value));
  }
  const { server } = place.get();
  return `#/${server === null ? "" : `@${server}/`}${path}${query.size > 0 ? `?${query.toString()}` : ""}`;
}

export function go(page: Page, item?: string | null, values?: JsonObject): void {
  location.hash = linkTo(page, item, values);
}

/** The arguments in a link. */
export function valuesOf(query: string): JsonObject {
  const valueOf = (text: string, value = parsed(text)) => (value === undefined ? text : value);
  return Object.fromEntries([...new URLSearchParams(query)].map(([name, text]) => [name, valueOf(text)]));
}
