// The state of the page outside React, and the hooks that read it.
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { Unknown, command, listen, problemOf } from "./program";
import type { Connection, Era, Event, JsonObject, ListName, Problem } from "./protocol";
import { NOTHING, after, type Link, type State } from "./state";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 5000;
/** Frames stop in a hidden tab. */
const HIDDEN_MS = 250;

let state = NOTHING;
let waiting: Event[] = [];
const readers = new Set<() => void>();

function set(next: State): void {
  state = next;
  for (const read of readers) read();
}

function flush(): void {
  const events = waiting;
  waiting = [];
  set(after(state, events));
}

function receive(event: Event): void {
  if (waiting.push(event) > 1) return;
  if (document.hidden) setTimeout(flush, HIDDEN_MS);
  else requestAnimationFrame(flush);
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
        set({ ...state, link: { state: "unknown" } });
        return;
      }
    }
    if (waiting.length > 0) flush();
    if (state.link.state !== "ended") set({ ...state, link: { state: "lost" } });
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** A part of the state; `choose` must return the same value while nothing has changed. */
export function useKnown<T>(choose: (state: State) => T): T {
  return useSyncExternalStore(
    (read) => {
      readers.add(read);
      return () => readers.delete(read);
    },
    () => choose(state),
  );
}

export const useLink = (): Link => useKnown((state) => state.link);
export const useEra = (): Era => useKnown((state) => state.era);
export const chooseEra = (era: Era): void => set({ ...state, era, isChosen: true });

export function useConnection(): Connection | null {
  return useKnown((state) => state.connections.find((one) => one.era === state.era) ?? null);
}

/** The revision that an era speaks here, by which people know it. */
export function useRevision(era: Era): string {
  return useKnown((state) => state.connections.find((one) => one.era === era)?.revision ?? (era === "modern" ? "2026-07-28" : "2025-11-25"));
}

/** Adds older rows of the wire, which the program has kept. */
export async function fetchOlderRows(): Promise<void> {
  const first = state.wire[0];
  if (!first) return;
  const { rows } = await command("wire", { before: first.id });
  set({ ...state, wire: [...rows, ...state.wire], wireHasMore: rows.length > 0 && (rows[0]?.id ?? 0) > 1 });
}

export interface Listed {
  items: JsonObject[] | null;
  problem: Problem | null;
  refresh: () => void;
}

interface Fetched {
  key: string;
  items: JsonObject[] | null;
  problem: Problem | null;
}

const fetched = new Map<string, Fetched>();

/** The items of a list, fetched again when the server has changed them. */
export function useList(list: ListName): Listed {
  const era = useEra();
  const version = useConnection()?.lists[list].version ?? 0;
  const ready = useConnection()?.lists[list].state === "ready";
  const slot = `${era} ${list}`;
  const key = `${slot} ${version}`;
  const [, draw] = useState(0);
  const fetchItems = useCallback(
    async (refresh: boolean) => {
      let found: Fetched;
      try {
        found = { key, items: (await command("list", { era, list, refresh })).items, problem: null };
      } catch (error) {
        found = { key, items: fetched.get(slot)?.items ?? null, problem: problemOf(error) };
      }
      fetched.set(slot, found);
      draw((count) => count + 1);
    },
    [era, list, slot, key],
  );
  useEffect(() => {
    if (ready && fetched.get(slot)?.key !== key) void fetchItems(false);
  }, [fetchItems, ready, slot, key]);
  const last = fetched.get(slot);
  return { items: last?.items ?? null, problem: last?.problem ?? null, refresh: () => void fetchItems(true) };
}

/** Runs commands one at a time for a control, and keeps the problem of the last one. */
export function useAction(): { busy: boolean; problem: Problem | null; run: (work: () => Promise<unknown>) => void } {
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
