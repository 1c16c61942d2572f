// Host-driven reads, an optimization that everything works without (see docs/bridge.md): while the
// messages of a pipe come one by one, this thread's event loop reads them, which saves waking it.
// TRUNKLINE_HOST_READS=0 in the environment switches it off; all of its code is here and in
// native/handoff.rs.
import type { NativePort } from "./native/native.js";

/** Bun and Deno export the functions of libuv that this calls, but abort the process in them. */
const { bun, deno } = process.versions;

/** `true` if the core may hand pipes to the event loop of this thread. */
export const hostReads = bun === undefined && deno === undefined && process.env["TRUNKLINE_HOST_READS"] !== "0";

/** The pipes that the event loop of this thread reads. */
export class Handoffs {
  readonly #port: NativePort;
  readonly #drain: () => void;
  readonly #watched = new Set<number>();

  /** `drain` takes the events that a read has brought. */
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
