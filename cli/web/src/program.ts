// The program behind the page: its token, its stream of events, and its commands.
import type { Command, Commands, Event, Problem } from "./generated/protocol";
import { exact } from "./words";

const KEPT_AS = "trunkline-inspect-token";

/** Takes the token out of the address bar, where it would end up in the history. */
function takeToken(): string | null {
  const [, token, rest] = /^#t=([\w.~-]+)&?(\/.*)?$/.exec(location.hash) ?? [];
  if (token !== undefined) {
    sessionStorage.setItem(KEPT_AS, token);
    history.replaceState(null, "", rest === undefined ? location.pathname : `#${rest}`);
  }
  return sessionStorage.getItem(KEPT_AS);
}

/** The server that the address names, if the page has several: `#/@weather/tools`. */
export const serverOf = (): string | null => /^#\/@([\w.-]+)/.exec(location.hash)?.[1] ?? null;

function addressOf(name: string): string {
  const server = serverOf();
  return server === null ? `/api/${name}` : `/api/${name}?server=${server}`;
}

const token = takeToken();
const headers = { authorization: `Bearer ${token ?? ""}` };

/** The program does not know this tab: another one runs at this port, or the token is missing. */
export class Unknown extends Error {}

/** A command that failed, with the program's account of it. */
export class Failed extends Error {
  constructor(readonly problem: Problem) {
    super(problem.what);
  }
}

/** Passes on events until the stream ends. */
export async function listen(receive: (event: Event) => void): Promise<void> {
  const response = await fetch(addressOf("events"), { headers, cache: "no-store" });
  if (!response.ok || !response.body) throw new Unknown(`events: ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") receive(exact(line) as Event);
  }
}

export async function command<Name extends Command>(name: Name, input: Commands[Name][0]): Promise<Commands[Name][1]> {
  const body = JSON.stringify(input);
  const request = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
  const response = await fetch(addressOf(name), request).catch(() => null);
  if (!response) throw new Failed(saying("trunkline has ended", "Start it again, and reload this page."));
  const answer: unknown = await response.text().then(exact).catch(() => null);
  if (response.ok) return answer as Commands[Name][1];
  throw new Failed((answer as { error: Problem } | null)?.error ?? saying(`trunkline answered ${name} with ${response.status}`, null));
}

export function saying(what: string, hint: string | null): Problem {
  return { code: "page", what, where: null, hint, lines: [], rpc: null };
}

export function problemOf(error: unknown): Problem {
  return error instanceof Failed ? error.problem : saying(error instanceof Error ? error.message : String(error), null);
}
