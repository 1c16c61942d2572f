// The state of the page outside React, and the hooks that read it.
import { useCallback, useEffect, useState } from "react";
import { cell } from "./cell";
import { Unknown, command, listen, problemOf } from "./program";
import type { Command, Commands, Connection, Era, Event, JsonObject, ListName, ListState, Problem } from "./generated/protocol";
import { NOTHING, after, type Link, type State } from "./state";
import { exact } from "./words";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 5000;
/** Frames stop in a hidden tab, at any time. */
const HIDDEN_MS = 250;

const known = cell(NOTHING);
let waiting: Event[] = [];
let [timer, frame] = [0, 0];

const change = (part: Partial<State>): void => known.set({ ...known.get(), ...part });

function flush(): void {
  clearTimeout(timer);
  cancelAnimationFrame(frame);
  const events = waiting;
  waiting = [];
  known.set(after(known.get(), events));
}

function receive(event: Event): void {
  if (waiting.push(event) > 1) return;
  timer = setTimeout(flush, HIDDEN_MS);
  frame = requestAnimationFrame(flush);
}

/** Waits for a person to come to this tab. */
async function attention(): Promise<void> {
  const kinds = ["focus", "visibilitychange", "pointerdown"];
  do await new Promise((resolve) => kinds.forEach((kind) => addEventListener(kind, resolve, { once: true })));
  while (document.hidden);
}

export async function connect(): Promise<void> {
  for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
    try {
      await listen((event) => {
        wait = FIRST_RETRY_MS;
        receive(event);
      });
    } catch (error) {
      if (error instanceof Unknown) {
        change({ link: { state: "unknown" } });
        return;
      }
    }
    if (waiting.length > 0) flush();
    const { state } = known.get().link;
    if (state !== "ended" && state !== "asleep") change({ link: { state: "lost" } });
    await (state === "asleep" ? attention() : new Promise((resolve) => setTimeout(resolve, wait)));
  }
}

export const useKnown = known.useValue;
export const useLink = (): Link => useKnown((state) => state.link);
export const useEra = (): Era => useKnown((state) => state.era);
export const chooseEra = (era: Era): void => change({ era, isChosen: true });

// The page does not go to another era under the hands of a person.
for (const kind of ["input", "keydown", "pointerdown"]) {
  addEventListener(kind, () => known.get().connections.some((one) => one.era === known.get().era && one.openings > 0) && change({ isChosen: true }));
}

export function useConnection(): Connection | null {
  return useKnown((state) => state.connections.find((one) => one.era === state.era) ?? null);
}

/** The revision of a connection, by which people know its era, or the one that it tries first. */
export const revisionOf = ({ era, revision }: Pick<Connection, "era" | "revision">): string =>
  revision ?? (era === "modern" ? "2026-07-28" : "2025-11-25");

export const useRevision = (era: Era): string =>
  useKnown((state) => revisionOf(state.connections.find((one) => one.era === era) ?? { era, revision: null }));

/** Adds older rows of the wire, which the program has kept. */
export async function fetchOlderRows(): Promise<void> {
  const [first] = known.get().wire;
  if (!first) return;
  const { rows } = await command("wire", { before: first.id });
  change({ wire: [...rows, ...known.get().wire], wireHasMore: rows.length > 0 && (rows[0]?.id ?? 0) > 1 });
}

export interface Listed {
  items: JsonObject[] | null;
  problem: Problem | null;
  state: ListState["state"] | null;
  refresh: () => void;
}

type Fetched = Pick<Listed, "items" | "problem"> & { version: number };

const fetched = cell<Partial<Record<string, Fetched>>>({});

/** The items of a list, fetched again when the server has changed them. */
export function useList(list: ListName): Listed {
  const era = useEra();
  const { version = 0, state = null, problem = null } = useConnection()?.lists[list] ?? {};
  const slot = `${era} ${list}`;
  const last = fetched.useValue((all) => all[slot]);
  const fetchItems = useCallback(
    async (refresh: boolean) => {
      const found = await command("list", { era, list, refresh }).then(
        ({ items }) => ({ items, problem: null }),
        (error: unknown) => ({ items: fetched.get()[slot]?.items ?? null, problem: problemOf(error) }),
      );
      fetched.set({ ...fetched.get(), [slot]: { version, ...found } });
    },
    [era, list, slot, version],
  );
  const isNew = state === "ready" && last?.version !== version;
  useEffect(() => {
    if (isNew) void fetchItems(false);
  }, [isNew, fetchItems]);
  // The items of an older connection may no longer be declared.
  const items = state === "absent" ? null : (last?.items ?? null);
  return { items, problem: last?.problem ?? problem, state, refresh: () => void fetchItems(true) };
}

export interface Action {
  busy: boolean;
  problem: Problem | null;
  run: (work: () => Promise<unknown>) => void;
}

/** Runs commands one at a time for a control, and keeps the problem of the last one. */
export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const run = useCallback((work: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(null);
    work()
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => setBusy(false));
  }, []);
  return { busy, problem, run };
}

type Answer<T> = { answer: T | null; problem: Problem | null };

/** The answer of a command to what is entered now, asked for after a pause; `null` asks nothing. */
export function useAnswer<Name extends Command>(name: Name, input: Commands[Name][0] | null, pauseMs = 0): Answer<Commands[Name][1]> {
  const [found, setFound] = useState<Answer<Commands[Name][1]>>({ answer: null, problem: null });
  const asked = JSON.stringify(input);
  useEffect(() => {
    let current = true;
    const set = (answer: Commands[Name][1] | null, problem: Problem | null): void => {
      if (current) setFound({ answer, problem });
    };
    const timer = setTimeout(() => {
      const wanted = exact(asked) as Commands[Name][0] | null;
      if (wanted === null) set(null, null);
      else
        command(name, wanted).then(
          (answer) => set(answer, null),
          (error: unknown) => set(null, problemOf(error)),
        );
    }, pauseMs);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [name, asked, pauseMs]);
  return found;
}
