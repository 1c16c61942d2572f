/**
 * All that crosses between the program and the page.
 *
 * `GET /api/events` streams one JSON value a line: a `Snapshot` first, then increments. Every
 * increment carries the next `sequence`. After a `gap`, and after a reconnect, a new snapshot
 * replaces everything. Nothing in the stream is large: lists are fetched with `list`, and the rest
 * of a message or a result with `body`. Blank lines keep the stream alive: skip them.
 *
 * `POST /api/<command>` takes a JSON object (`Commands[command][0]`) and returns another
 * (`Commands[command][1]`) with 200, or a `Refusal` with 4xx. Requests to the server that can take
 * long (`call`, `read`, `prompt`, `send`) return the number of a `Call` at once; its rounds,
 * progress and result are events.
 *
 * Both need `Authorization: Bearer TOKEN`. The token is in the fragment (`#t=TOKEN`).
 *
 * Every string that comes from the server is hostile: show it as text.
 *
 * The built page is `dist/index.html.gz`, `dist/assets/NAME-HASH.js.gz` and so on, each compressed
 * with gzip (level 9, without a time or a name). The program sends them as they are, or
 * decompresses them for a client that does not accept gzip. Not brotli: over `http:`, some browsers
 * do not accept it, and the decoder with its dictionary would be larger than what it saves.
 */

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
export type JsonObject = { [member: string]: Json };

/** `legacy`: revisions with a session, up to 2025-11-25. `modern`: 2026-07-28. */
export type Era = "legacy" | "modern";

/** Milliseconds since the Unix epoch, with fractions. */
export type Time = number;

/** Why something failed: the lines that the program would print. */
export interface Problem {
  /** A kind of error: `transport`, `timeout`, `protocol`, `cancelled`, `unauthorized`, … */
  code: string;
  /** The problem, with the server's own code and text first. */
  what: string;
  /** The attempt. */
  where: string | null;
  /** Advice. */
  hint: string | null;
  /** Further lines: the last ones of the server's standard error. */
  lines: string[];
  /** The server's error, if it sent one. */
  rpc: { code: number; message: string; data?: Json } | null;
}

/** The body of a 4xx response. */
export interface Refusal {
  error: Problem;
}

// ---------------------------------------------------------------------------------------------
// State
// ---------------------------------------------------------------------------------------------

export interface Snapshot {
  event: "snapshot";
  /** The number of the last increment in this snapshot. */
  sequence: number;
  program: { version: string };
  target: Target;
  /** Always both eras, legacy first. */
  connections: Connection[];
  /** The last rows, at most 500. `wire` fetches older ones that are kept. */
  wire: WireRow[];
  /** The running calls, and the last 20 that ended, oldest first. */
  calls: Call[];
  /** The questions of the server that wait for an answer, oldest first. */
  rounds: Round[];
  /** The last log messages of the server, at most 200. */
  logs: LogMessage[];
  /** The roots that servers get; `roots` changes them. */
  roots: { uri: string; name?: string }[];
  /** The open subscriptions. */
  subscriptions: ResourceSubscription[];
  /** The ladder of the last login, first step first; at most 200. */
  exchanges: Exchange[];
  /** The forms that `code` writes, in the order to show. */
  codeForms: CodeForm[];
  /** How long sessions stay open after the last tab is closed, in seconds. */
  lingerSeconds: number;
}

export interface Target {
  /** As the person named it. */
  label: string;
  transport: "stdio" | "http";
  /** The command line that opens this page again. */
  command: string;
}

export type ConnectionState =
  /** Not tried yet: `auto` found the other era, or the flags exclude this one. */
  | "idle"
  | "connecting"
  | "open"
  /** The server does not speak this era; `problem` says how it refused. */
  | "unsupported"
  /** Could not be opened. */
  | "failed"
  /** Was open, and has ended; everything that was learned stays. */
  | "closed";

export interface Connection {
  era: Era;
  state: ConnectionState;
  /** The other members are those of the last opening; absent before the first. */
  revision: string | null;
  /** `Implementation`: name, version, title, … */
  serverInfo: JsonObject | null;
  capabilities: JsonObject | null;
  /** At most 100 KB; `instructionsBytes` is the whole size. */
  instructions: string | null;
  instructionsBytes: number;
  /** The process of the server, if the program started it. */
  pid: number | null;
  openedAt: Time | null;
  /** How long opening took, in milliseconds. */
  tookMs: number | null;
  /** How often it was opened: 2 or more means that the server was restarted or reconnected. */
  openings: number;
  /** The reason for `unsupported`, `failed`, `closed`. */
  problem: Problem | null;
  lists: Record<ListName, ListState>;
}

/** `skills`: only of 2026-07-28. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts" | "skills";

export interface ListState {
  /** `absent`: the server does not declare the capability. */
  state: "absent" | "loading" | "ready" | "failed";
  count: number;
  /** Grows with each change; fetch the items again with `list`. */
  version: number;
  /** 2026-07-28: how long the list may be cached. */
  ttlMs: number | null;
  cacheScope: string | null;
  problem: Problem | null;
}

/** A message, or an HTTP exchange, on the wire. */
export interface WireRow {
  id: number;
  at: Time;
  /** `null`: of no connection, such as an exchange with an authorization server. */
  era: Era | null;
  /** `fromApp` and `toApp`: between an app and this page, its host. */
  direction: "sent" | "received" | "fromApp" | "toApp";
  /** `http`: an exchange; its messages are rows of their own. */
  kind: "request" | "result" | "error" | "notification" | "http";
  /**
   * The method of the message, or of the request that a response belongs to; for `http`, the HTTP
   * method.
   */
  method: string | null;
  /** The JSON-RPC id. */
  rpcId: string | number | null;
  /**
   * The subject of the request: the name of the tool, the URI of the resource, the URL of an
   * exchange.
   */
  about: string | null;
  /** The row of the request that this response answers, if it is kept. */
  answers: number | null;
  /** Milliseconds since that request, or the time to the head of an HTTP response. */
  ms: number | null;
  /** The size of the whole message. */
  bytes: number;
  /** The first 2 KB of the message. For `http`: a line such as `POST http://… 200`. */
  text: string;
  /** `text` is not the whole message: `body` has it. */
  cut: boolean;
  /** For `http`. Secrets are removed. */
  http: { status: number | null; requestHeaders: Header[]; responseHeaders: Header[]; error: string | null } | null;
}

export type Header = [name: string, value: string];

/** A request of the page to the server. */
export interface Call {
  id: number;
  era: Era;
  method: string;
  /** The name of the tool or prompt, the URI of the resource. */
  about: string | null;
  /** The parameters; at most 100 KB, otherwise `null`. */
  params: Json;
  at: Time;
  state: "running" | "done" | "failed" | "cancelled";
  progress: Progress | null;
  /**
   * The whole result of the protocol, unchanged, if `done`. A tool's own error is in it
   * (`isError`).
   */
  result: Content | null;
  problem: Problem | null;
  /** How long it took, if it has ended. */
  ms: number | null;
  /** The task that the server made of the call. */
  task: string | null;
}

export interface Progress {
  progress: number;
  total: number | null;
  /** At most 1 KB. */
  message: string | null;
  at: Time;
}

/** JSON of any size. */
export interface Content {
  /** The size of the JSON text. */
  bytes: number;
  /** The value, if it has at most 100 KB. */
  json?: Json;
  /** Otherwise the first 100 KB of the JSON text; `body` with the number of the call has all. */
  part?: string;
}

/** A question of the server: it belongs into the call that it is part of. */
export interface Round {
  id: number;
  era: Era;
  /** The call that it belongs to; `null` if that cannot be known, or if there is none. */
  call: number | null;
  at: Time;
  /**
   * `form`: fill in `params.requestedSchema`. `url`: open `params.url`, after asking.
   * `sampling`: `params` are those of `sampling/createMessage`.
   * `login`: log in at `params.url`, entering `params.userCode` if it is there. Answered by itself.
   */
  kind: "form" | "url" | "sampling" | "login";
  /** The text for the person. */
  message: string;
  params: JsonObject;
}

export interface LogMessage {
  at: Time;
  era: Era;
  level: string;
  logger: string | null;
  /** At most 10 KB of text, or of JSON text if the server sent no string. */
  text: string;
}

export interface ResourceSubscription {
  era: Era;
  uri: string;
  /** How many updates have arrived. */
  updates: number;
  updatedAt: Time | null;
}

/** One rung of the login ladder. */
export interface Exchange {
  id: number;
  at: Time;
  method: string;
  /** Without its query. */
  url: string;
  /** `null`: the person's browser made the request. */
  status: number | null;
  /** The members that matter, such as `issuer = https://login.example.com`. */
  members: string[];
  /** The text that it must follow, such as `RFC 8414 section 3.2`. */
  clause: string;
  /**
   * True if the response is as the text demands: a status below 400, and no `error`. The first 401
   * of the server passes.
   */
  pass: boolean;
}

/** What is wrong with the server, and what each host makes of it. */
export interface LintReport {
  rules: LintRule[];
  /** By rule, errors first; at most 100 of each. */
  findings: Finding[];
  /** More findings of rules that have over 100. */
  omitted: number;
  hosts: SeenByHost[];
}

export interface LintRule {
  id: string;
  title: string;
  why: string;
  advice: string;
  /** A URL. */
  source: string;
}

export interface Finding {
  rule: string;
  severity: "error" | "warning";
  list: ListName | "server";
  /** The position in the list; `null` for the list, or the server. */
  index: number | null;
  /** The name or URI; at most 1,000 characters. */
  item: string | null;
  /** A JSON pointer into the item. */
  pointer: string;
  what: string;
  hosts: { host: string; effect: Effect; source: string }[];
}

/** `refuses`: every request to the model fails, also those about other tools. */
export type Effect = "refuses" | "drops" | "cuts" | "renames" | "misreads";

export interface SeenByHost {
  host: string;
  title: string;
  /** Where the form of the names is from. */
  source: string | null;
  tools: number;
  refuses: boolean;
  dropped: number;
  /** The first 100 tools. */
  names: { tool: string; shown: string; lost: boolean }[];
  /** Declared capabilities that it is not known to use. */
  ignores: string[];
  ignoresSource: string | null;
}

// ---------------------------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------------------------

export type Event =
  | Snapshot
  | ({ sequence: number } & Increment)
  /** This tab was too slow: a snapshot is the next line. */
  | { event: "gap" };

export type Increment =
  /** The whole state of one era; lists too. */
  | { event: "connection"; connection: Connection }
  /** The state of one list has changed. */
  | { event: "list"; era: Era; list: ListName; state: ListState }
  | { event: "wire"; row: WireRow }
  /** A call has begun, has become a task, or has ended: replaces the one of this id. */
  | { event: "call"; call: Call }
  | { event: "progress"; call: number; progress: Progress }
  | { event: "round"; round: Round }
  /**
   * A question is no longer open; `by`: answered in any tab, or withdrawn by the server or by the
   * end of its call.
   */
  | { event: "roundEnded"; round: number; by: "answer" | "withdrawal" }
  | { event: "log"; log: LogMessage }
  | { event: "subscription"; subscription: ResourceSubscription; open: boolean }
  | { event: "roots"; roots: { uri: string; name?: string }[] }
  | { event: "exchange"; exchange: Exchange }
  /** A new login begins: the ladder is empty. */
  | { event: "ladder" }
  /** The program ends; nothing follows. */
  | { event: "end"; command: string };

// ---------------------------------------------------------------------------------------------
// Commands
// ---------------------------------------------------------------------------------------------

/** The frame of an app: `http://HOST:<port>/<token>/`, where HOST is that of the page. */
export interface OpenedApp {
  app: number;
  port: number;
  token: string;
  /** The size of its HTML. */
  bytes: number;
  /** The metadata of the interface (`_meta.ui`) that the policy follows from. */
  ui: JsonObject | null;
  /** Its header `Content-Security-Policy`. */
  policy: string;
  /** The attribute `allow` of its frame. */
  allow: string;
  /** Declared domains that are not in the policy, because they are no origins; at most 100. */
  refused: string[];
}

export interface AppShown {
  /** `silent`: it has sent nothing for 5 seconds. */
  state: "loading" | "silent" | "initializing" | "ready" | "closed";
  /** Why the frame has removed it. */
  why: string | null;
  /** The height of its frame in pixels. */
  height: number;
  /** Its requests that wait for the person. */
  asked: AppWish[];
  /** The call that it shows, and those that it has made. */
  calls: number[];
}

export interface AppWish {
  number: number;
  method: string;
  params: JsonObject | null;
}

export type CodeForm = { form: string; label: string };

export interface Commands {
  /** Calls a tool. Arguments are checked only by the server, so that one sees what it says. */
  call: [{ era: Era; name: string; arguments: JsonObject; task?: boolean }, { call: number }];
  /** Reads a resource. */
  read: [{ era: Era; uri: string }, { call: number }];
  prompt: [{ era: Era; name: string; arguments: { [name: string]: string } }, { call: number }];
  /** Sends any request, such as one of the wire, edited. The program numbers it. */
  send: [{ era: Era; method: string; params?: JsonObject }, { call: number }];
  /** Cancels a running call. */
  cancel: [{ call: number }, Record<string, never>];
  /** Checks arguments against the schema of a tool, as the library does before a call. */
  check: [{ era: Era; name: string; arguments: JsonObject }, { problem: string | null }];

  /**
   * Answers a round. `form`: `action`, and `content` if accepted, which is refused with its problem
   * if it does not match the form; the round stays open then. `url`: `action`.
   * `sampling`: `accept` with `content` (a `CreateMessageResult`), or `decline`.
   * `login`: only `cancel`.
   */
  answer: [{ round: number; action: "accept" | "decline" | "cancel"; content?: JsonObject }, Record<string, never>];

  /** The items of a list, as the server sent them. `refresh`: ask the server again first. */
  list: [{ era: Era; list: ListName; refresh?: boolean }, { state: ListState; items: JsonObject[] }];
  complete: [
    {
      era: Era;
      ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
      argument: { name: string; value: string };
      context?: { [name: string]: string };
    },
    { values: string[]; total: number | null; hasMore: boolean },
  ];
  /** Expands a URI template (RFC 6570) with the values of its variables. */
  expand: [{ template: string; values: { [name: string]: string } }, { uri: string }];
  /** The names of the variables of a URI template, in their order. */
  variables: [{ template: string }, { names: string[] }];
  subscribe: [{ era: Era; uri: string }, Record<string, never>];
  unsubscribe: [{ era: Era; uri: string }, Record<string, never>];

  /** Checks the lists as they were read last. */
  lint: [{ era: Era }, LintReport];

  ping: [{ era: Era }, { ms: number }];
  /** Opens the connection of an era: the first time, or again. A started server is ended first. */
  reconnect: [{ era: Era }, Record<string, never>];
  /**
   * Forgets the login and opens the connection again, so that the ladder is climbed from its start.
   */
  login: [{ era: Era }, Record<string, never>];

  /** The tasks of the server (2025-11-25), or the state of one. */
  task: [{ era: Era; action: "list" } | { era: Era; action: "get" | "cancel"; task: string }, { tasks: JsonObject[] }];
  /** Waits for the result of a task, as a call. */
  taskResult: [{ era: Era; task: string }, { call: number }];

  /** The least severity of log messages that the server sends: `debug` … `emergency`. */
  logLevel: [{ era: Era; level: string }, Record<string, never>];
  /**
   * The roots that servers of both eras get when they ask; none at first. URIs begin with
   * `file://`.
   */
  roots: [{ roots: { uri: string; name?: string }[] }, Record<string, never>];

  /** A call as code; `form` is one of `snapshot.codeForms`. Secrets are placeholders. */
  code: [{ era: Era; form: string; name: string; arguments: JsonObject }, { text: string }];

  /** The whole of a message, or of a call's result, as text. */
  body: [{ row: number } | { call: number }, { text: string; bytes: number }];
  /** Rows before `before` that are kept, newest last; at most 500. */
  wire: [{ before: number }, { rows: WireRow[] }];
  /** All rows that are kept, whole, as lines of JSON. */
  export: [Record<string, never>, { text: string; name: string }];

  /** Reads an app, and serves it to a frame of the page that is at `origin`. */
  app: [{ era: Era; uri: string; origin: string }, OpenedApp];
  /** Calls the tool of an app, for the app to show. `context` goes into its host context. */
  appRun: [{ era: Era; app: number; tool: string; arguments: JsonObject; context: JsonObject }, { run: number }];
  /** Passes on a message of the app; `stopped`: `text` says why its frame has removed it. */
  appSaid: [{ run: number; text: string; stopped: boolean }, Record<string, never>];
  /** Waits for messages to the app, or for a version after `seen` of what is shown. */
  appNext: [{ run: number; seen: number }, { messages: string[]; version: number; shown: AppShown }];
  /** Decides about a request of the app; `always`: also about later ones for the server. */
  appLeave: [{ run: number; number?: number; action: "allow" | "always" | "refuse" | "close" }, Record<string, never>];
  /**
   * Reads a file of a listed skill, given by its URI. It is refused unless its size, its digest
   * and, for the `SKILL.md`, its frontmatter are those of its entry.
   */
  skillFile: [{ era: Era; skill: string; file: string }, { bytes: number; text: string | null }];
}

export type Command = keyof Commands;
