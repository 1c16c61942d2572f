// The state of the page, and how each event changes it.
import type { Call, Connection, Era, Event, Exchange, LogMessage, ResourceSubscription, Round, Snapshot, WireRow } from "./protocol";

/** Rows of the wire that the page keeps; `wire` fetches older ones. */
export const ROWS_KEPT = 5000;
const LOGS_KEPT = 500;
const CALLS_KEPT = 100;

export type Link =
  | { state: "connecting" }
  | { state: "live" }
  /** The stream broke off; the page tries again. */
  | { state: "lost" }
  /** The program said goodbye. */
  | { state: "ended"; command: string }
  | { state: "unknown" };

export interface State {
  link: Link;
  program: Snapshot["program"] | null;
  target: Snapshot["target"] | null;
  connections: Connection[];
  wire: WireRow[];
  /** Older rows are kept by the program. */
  wireHasMore: boolean;
  calls: Call[];
  rounds: Round[];
  logs: LogMessage[];
  roots: Snapshot["roots"];
  subscriptions: ResourceSubscription[];
  exchanges: Exchange[];
  codeForms: Snapshot["codeForms"];
  lingerSeconds: number;
  /** The era that the page shows. */
  era: Era;
  /** The person has chosen it. */
  isChosen: boolean;
}

export const NOTHING: State = {
  link: { state: "connecting" },
  program: null,
  target: null,
  connections: [],
  wire: [],
  wireHasMore: false,
  calls: [],
  rounds: [],
  logs: [],
  roots: [],
  subscriptions: [],
  exchanges: [],
  codeForms: [],
  lingerSeconds: 0,
  era: "legacy",
  isChosen: false,
};

/** Applies events that arrived together, so that a flood of them draws once. */
export function after(state: State, events: Event[]): State {
  const next = { ...state };
  const rows: WireRow[] = [];
  for (const event of events) {
    if (event.event === "wire") rows.push(event.row);
    else apply(next, event, rows);
  }
  if (rows.length > 0) {
    next.wire = [...next.wire, ...rows].slice(-ROWS_KEPT);
    next.wireHasMore ||= next.wire.length === ROWS_KEPT;
  }
  if (!next.isChosen) next.era = eraOf(next);
  return next;
}

function apply(next: State, event: Exclude<Event, { event: "wire" }>, rows: WireRow[]): void {
  switch (event.event) {
    case "snapshot": {
      const { event: _event, sequence: _sequence, ...known } = event;
      rows.length = 0;
      Object.assign(next, known, { link: { state: "live" }, wireHasMore: (known.wire[0]?.id ?? 0) > 1 });
      break;
    }
    case "connection":
      next.connections = next.connections.map((one) => (one.era === event.connection.era ? event.connection : one));
      break;
    case "list":
      next.connections = next.connections.map((one) => (one.era === event.era ? { ...one, lists: { ...one.lists, [event.list]: event.state } } : one));
      break;
    case "call":
      next.calls = put(next.calls, event.call).slice(-CALLS_KEPT);
      break;
    case "progress":
      next.calls = next.calls.map((call) => (call.id === event.call ? { ...call, progress: event.progress } : call));
      break;
    case "roots":
      next.roots = event.roots;
      break;
    case "round":
      next.rounds = put(next.rounds, event.round);
      break;
    case "roundEnded":
      next.rounds = next.rounds.filter((round) => round.id !== event.round);
      break;
    case "log":
      next.logs = [...next.logs, event.log].slice(-LOGS_KEPT);
      break;
    case "subscription": {
      const { era, uri } = event.subscription;
      const others = next.subscriptions.filter((one) => one.era !== era || one.uri !== uri);
      next.subscriptions = event.open ? [...others, event.subscription] : others;
      break;
    }
    case "exchange":
      next.exchanges = put(next.exchanges, event.exchange);
      break;
    case "ladder":
      next.exchanges = [];
      break;
    case "end":
      next.link = { state: "ended", command: event.command };
      break;
    case "gap":
      break;
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
