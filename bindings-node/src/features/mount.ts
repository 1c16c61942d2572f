// Servers mounted in another server.
import { invalid } from "../errors.js";
import { checkNames } from "../option-names.js";
import type { Feature } from "./feature.js";

/** A connected client: a `Client` or a `ClientGroup`. */
export interface ProxiedClient {
  /** The negotiated protocol revision. */
  readonly revision: string;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** Options of a proxy. */
export interface ProxyOptions {
  /**
   * Tools and prompts are named `prefix__name`, resources `prefix+uri`. Without a prefix, names and
   * URIs are unchanged; only one server can have none.
   */
  prefix?: string | undefined;
  /**
   * Maximum number of connections to a server for separate callers, if its revision is before
   * 2026-07-28. Default: 64.
   */
  maxConnections?: number | undefined;
}

/** A server in this process, by its handle. */
export function mountFeature(prefix: string, mounted: number): Feature {
  return { kind: "mount", description: { prefix, mounted } };
}

/** The server behind a client, or the servers of a group. */
export function proxyFeature(client: ProxiedClient, options: ProxyOptions): Feature {
  checkNames(options, ["prefix", "maxConnections"]);
  const { prefix, maxConnections } = options;
  const place = (client as ProxiedClient & { toJSON?: () => object }).toJSON?.();
  if (place === undefined) throw invalid("a proxy needs a connected client");
  return { kind: "proxy", description: { ...place, prefix, maxConnections } };
}
