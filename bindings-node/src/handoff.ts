// Host-driven reads, an optional optimization (see docs/bridge.md): while the messages of a pipe
// arrive one by one, this thread's event loop reads them, which saves waking it. Set
// TRUNKLINE_HOST_READS=0 in the environment to disable it. All of its code is here and in
// native/handoff.rs.
import type { NativePort } from "./native/native.js";

/**
 * Bun and Deno export the libuv functions that this uses, but abort the process when they are
 * called.
 */
const { bun, deno } = process.versions;

/** `true` if the core may hand pipes to this thread's event loop. */
export const hostReads = bun === undefined && deno === undefined && process.env["TRUNKLINE_HOST_READS"] !== "0";

/** The pipes that this thread's event loop reads. */
export class Handoffs {
  readonly #port: NativePort;
  readonly #drain: () => void;
  readonly #watched = new Set<number>();

  /** `drain` takes the events that a read produced. */
  constructor(port: NativePort, drain: () => void) {
    this.#port = port;
    this.#drain = drain;
  }

  /** Accepts a pipe that the core hands over. */
  accept(handle: number): void {
    if (this.#watched.has(handle)) return;
    const watched = this.#port.watch(handle, (watched) => {
      if (!watched) this.#watched.delete(handle);
      this.#drain();
    });
    if (watched) this.#watched.add(handle);
  }
}
