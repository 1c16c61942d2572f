// How a server is reached over HTTP.
import type { AuthOptions } from "./auth.js";
import { milliseconds } from "./times.js";

/** What listening and being mounted in a web framework have in common. All times are in milliseconds. */
export interface HttpOptions {
  /** Serves legacy clients without sessions, as is needed where several processes share the requests; false. */
  stateless?: boolean;
  /** Answers with JSON instead of an event stream wherever that is possible; false. */
  json?: boolean;
  /** Values of the Host header that are served beside loopback names; `"*"` allows all. */
  allowedHosts?: string[];
  /** Values of the Origin header that are served beside loopback origins; `"*"` allows all. */
  allowedOrigins?: string[];
  /** Where clients of HTTP+SSE (2024-11-05) open their stream; `/sse`. `false`: they are not served. */
  sse?: string | false;
  /** Where they post; `/messages`. */
  messages?: string;
  /** Events that each session keeps for clients whose connection breaks; 1000. 0: none. */
  replayEvents?: number;
  /** Bytes of them; 4 MiB. */
  replayBytes?: number;
  /** When a client may come back to a stream that was closed early; 1 second. */
  retry?: number;
  /** Requests without a session at the same time, until their calls have ended; 4096. */
  maxRequests?: number;
  /** Bytes of the bodies that are read and served at the same time; 256 MiB, and never less than one message. */
  maxBodyBytes?: number;
  /** Lets in only who has an access token. */
  auth?: AuthOptions;
}

/** Where and how to listen. */
export interface ListenOptions extends HttpOptions {
  /** 8000; 0 takes one that is free. */
  port?: number;
  /** 127.0.0.1. */
  host?: string;
  /** /mcp. */
  path?: string;
  /** A Unix socket, in the place of `host` and `port`. */
  unix?: string;
  /** Its permissions in octal digits; `"600"`. */
  unixMode?: string;
  /** Connections at the same time; 16,384. */
  maxConnections?: number;
}

/** How a server is reached inside a web framework. */
export interface MountOptions extends HttpOptions {
  /** The only path that is served, with or without a slash at its end; by default every path, for the framework has chosen it already. */
  path?: string;
}

/** The same in the words of the contract, with the handle of the verifier in the place of the function. */
export function describeHttp({ retry, auth, ...same }: ListenOptions | MountOptions, verifier: number | undefined): object {
  return { type: "http", ...same, retryMs: milliseconds(retry, "retry"), auth: auth && { ...auth, verifier } };
}
