// Serving in the foreground, with a graceful shutdown on SIGINT and SIGTERM.

import { writeStderr } from "./log.js";
import { port } from "./port.js";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** Handlers have this long to return after their calls were cancelled. */
const cancelTimeoutMs = 500;
/** Child processes have this long to end with the server. */
const childExitTimeoutMs = 2000;
/** Promises settle within a few turns of the event loop, which may be busy. */
const settleTimeoutMs = 2000;
/** Looked for this long after the end: whoever started the program may be gone by then. */
const watchTimeMs = 30_000;
/** A child process keeps the event loop alive, and so do its pipes. */
const ofChildren = ["ProcessWrap", "PipeWrap"];
/** The signal handlers of everything that serves in the foreground, which one signal ends. */
const serving = new Set<unknown>();

/**
 * Serves until the end. A signal that the program doesn't handle itself calls `close`; a second one
 * has its default effect. `serve` gets `true` if both are handled here, so that the core handles
 * them too and can end a process whose event loop is blocked. Rejects if `close` does first. Once
 * `settled` has resolved as well, handlers and child processes no longer keep the process alive.
 */
export async function endedBySignals<T>(
  serve: (areHandled: boolean) => Promise<T>,
  close: (signal: NodeJS.Signals) => Promise<void>,
  settled = (): Promise<unknown> => Promise.resolve(),
): Promise<T> {
  const ownChildren = countChildren();
  const handled = SIGNALS.filter((signal) => process.listeners(signal).every((listener) => serving.has(listener)));
  const forget = (): void => {
    for (const signal of handled) process.removeListener(signal, stop);
  };
  let fail!: (error: unknown) => void;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  // In process 1, the main process of a container, signals have no default effect.
  const exit = (_: NodeJS.Signals, number: number): void => process.exit(128 + number);
  const stop = (signal: NodeJS.Signals): void => {
    forget();
    if (process.pid === 1) for (const signal of handled) process.on(signal, exit);
    void close(signal)
      .finally(() => {
        void settled().then(() => {
          exitUnlessSettled(ownChildren);
        });
      })
      .catch(fail);
  };
  serving.add(stop);
  for (const signal of handled) process.on(signal, stop);
  try {
    return await Promise.race([serve(handled.length === SIGNALS.length), failed]);
  } finally {
    forget();
    for (const signal of handled) process.removeListener(signal, exit);
    serving.delete(stop);
  }
}

/**
 * Exits once only handlers that ignore their cancellation, or only child processes left by
 * handlers, keep the event loop alive: either could do so forever. Child processes that the program
 * had before it served can't be told from those of handlers, so they must end by themselves.
 */
export function exitUnlessSettled(ownChildren: number): void {
  const exit = (what: string): void => {
    // Another server may still be listening, or finishing its calls.
    if (port().isServing) return;
    writeStderr(`trunkline: exiting while ${what} are still running: their server has stopped\n`);
    process.exit();
  };
  const before = countChildren();
  const lookAtChildren = (): void => {
    const running = countChildren();
    // Children that the program started since are its own concern, as is everything else.
    if (running === 0 || running > before) return;
    if (process.getActiveResourcesInfo().every((resource) => ofChildren.includes(resource))) exit("child processes");
  };
  setTimeout(() => {
    if (port().calls.ignoring.size > 0) exit("handlers");
  }, cancelTimeoutMs).unref();
  if (ownChildren > 0) return;
  setTimeout(() => setInterval(lookAtChildren, cancelTimeoutMs).unref(), childExitTimeoutMs).unref();
}

/**
 * Exits if promises no longer settle, so that nothing that awaits the end of the server goes on.
 * An `uncaughtException` handler does this that causes an error itself, such as one that logs to a
 * stderr that nobody reads: each error starts the next, before promises and after timers.
 */
export function exitIfStarved(): void {
  let [waited, watched] = [0, 0];
  const look = (): void => {
    if (waited >= settleTimeoutMs && !port().isServing) {
      writeStderr("trunkline: exiting while errors follow each other without an end: its server has stopped\n");
      process.exit(1);
    }
    [waited, watched] = [waited + cancelTimeoutMs, watched + cancelTimeoutMs];
    if (watched >= watchTimeMs) clearInterval(watching);
    else void Promise.resolve().then(() => (waited = 0));
  };
  const watching = setInterval(look, cancelTimeoutMs).unref();
}

/** Returns the number of child processes that keep the event loop alive. */
export function countChildren(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "ProcessWrap").length;
}
