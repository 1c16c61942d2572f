// The state of the page, and how each event changes it.
import type { Era, Event, Snapshot, WireRow } from "./generated/protocol";

/** Rows of the wire that the page keeps; `wire` fetches older ones. */
export const ROWS_KEPT = 5000;
const LOGS_KEPT = 500;
const CALLS_KEPT = 100;

export type Link =
  | { state: "connecting" }
  | { state: "live" }
  /** The stream broke off; the page tries again. */
  | { state: "lost" }
  /** Other tabs have the connections of the browser, until a person comes to this one. */
  | { state: "asleep" }
  /** The program said goodbye. */
  | { state: "ended"; command: string }
  | { state: "unknown" };

type Known = Omit<Snapshot, "event" | "sequence" | "target">;

export interface State extends Known {
  link: Link;
  target: Snapshot["target"] | null;
  /** Older rows are kept by the program. */
  wireHasMore: boolean;
  /** The era that the page shows. */
  era: Era;
  /** The person has chosen it, or uses it. */
  isChosen: boolean;
}

export const NOTHING: State = {
  link: { state: "connecting" },
  program: { version: "" },
  target: null,
  wireHasMore: false,
  lingerSeconds: 0,
  connections: [], wire: [], calls: [], rounds: [], logs: [], roots: [], subscriptions: [], exchanges: [], codeForms: [], servers: [],
  era: "legacy",
  isChosen: false,
};

/** Applies events that arrived together, so that a flood of them draws once. */
export function after(state: State, events: Event[]): State {
  const next = { ...state };
  let rows: WireRow[] = [];
  for (const event of events) {
    if (event.event === "wire") rows.push(event.row);
    if (event.event === "snapshot") rows = [];
    Object.assign(next, change(next, event));
  }
  if (rows.length > 0) {
    next.wire = [...next.wire, ...rows].slice(-ROWS_KEPT);
    next.wireHasMore ||= next.wire.length === ROWS_KEPT;
  }
  if (!next.isChosen) next.era = eraOf(next);
  return next;
}

function change(state: State, event: Event): Partial<State> {
  switch (event.event) {
    case "snapshot": {
      const { event: _event, sequence: _sequence, ...known } = event;
      return { ...known, link: { state: "live" }, wireHasMore: (known.wire[0]?.id ?? 0) > 1 };
    }
    case "connection":
      return { connections: state.connections.map((one) => (one.era === event.connection.era ? event.connection : one)) };
    case "list": {
      const { era, list, state: changed } = event;
      return { connections: state.connections.map((one) => (one.era === era ? { ...one, lists: { ...one.lists, [list]: changed } } : one)) };
    }
    case "call":
      return { calls: put(state.calls, event.call).slice(-CALLS_KEPT) };
    case "progress":
      return { calls: state.calls.map((call) => (call.id === event.call ? { ...call, progress: event.progress } : call)) };
    case "roots":
      return { roots: event.roots };
    case "round":
      return { rounds: put(state.rounds, event.round) };
    case "roundEnded":
      return { rounds: state.rounds.filter((round) => round.id !== event.round) };
    case "log":
      return { logs: [...state.logs, event.log].slice(-LOGS_KEPT) };
    case "subscription": {
      const { era, uri } = event.subscription;
      const others = state.subscriptions.filter((one) => one.era !== era || one.uri !== uri);
      return { subscriptions: event.open ? [...others, event.subscription] : others };
    }
    case "exchange":
      return { exchanges: put(state.exchanges, event.exchange) };
    case "ladder":
      return { exchanges: [] };
    case "end":
      return { link: { state: "ended", command: event.command } };
    case "asleep":
      return { link: { state: "asleep" } };
    case "wire":
    case "gap":
      return {};
  }
}

function put<T extends { id: number }>(all: T[], one: T): T[] {
  const at = all.findIndex((other) => other.id === one.id);
  return at < 0 ? [...all, one] : all.with(at, one);
}

/** The newest era that is open. One that has been closed stays, with the last data. */
function eraOf({ connections, era }: State): Era {
  const was = connections.find((one) => one.era === era);
  if (era === "modern" && was && was.openings > 0) return era;
  return connections.findLast((one) => one.state === "open")?.era ?? era;
}
