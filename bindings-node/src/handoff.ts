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

/**
 * Returns the function that accepts a pipe which the core hands over. `drain` takes the events that
 * a read produced.
 */
export function handoffs(port: NativePort, drain: () => void): (handle: number) => void {
  const watched = new Set<number>();
  return (handle) => {
    if (watched.has(handle)) return;
    const accepted = port.watch(handle, (isWatched) => {
      if (!isWatched) watched.delete(handle);
      drain();
    });
    if (accepted) watched.add(handle);
  };
}
