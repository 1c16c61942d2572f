// Servers mounted in another server.
import { invalid } from "../errors.js";
import { proxyOptionsNames, type ProxyOptions } from "../generated/options.js";
import { checkNames } from "../option-names.js";
import type { Feature } from "./feature.js";

/** A connected client: a `Client` or a `ClientGroup`. */
export interface ProxiedClient {
  /** The negotiated protocol revision. */
  readonly revision: string;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** A server in this process, by its handle. */
export function mountFeature(prefix: string, mounted: number): Feature {
  return { kind: "mount", description: { prefix, mounted } };
}

/** The server behind a client, or the servers of a group. */
export function proxyFeature(client: ProxiedClient, options: ProxyOptions): Feature {
  checkNames(options, proxyOptionsNames);
  const place = (client as ProxiedClient & { toJSON?: () => object }).toJSON?.();
  if (place === undefined) throw invalid("a proxy needs a connected client");
  return { kind: "proxy", description: { ...place, ...options } };
}
