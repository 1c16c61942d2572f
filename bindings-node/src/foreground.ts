// Serving in the foreground: SIGINT and SIGTERM end it in good order.

import { writeStderr } from "./log.js";
import { port } from "./port.js";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** Time for handlers to return after their calls were cancelled. */
const cancelledMs = 500;
/** Time for child processes to end with the server. */
const childrenMs = 2000;
/** A child process keeps the event loop alive, and so do the pipes to it. */
const ofChildren = ["ProcessWrap", "PipeWrap"];

/**
 * Serves to the end. At a signal for which the program has no handler, `close` brings the end; a
 * second one acts as if nobody handled it. `serve` is called with whether signals are handled, for
 * the core to take them, too, which ends a process whose event loop is blocked.
 */
export async function endedBySignals<T>(
  serve: (areHandled: boolean) => Promise<T>,
  close: (signal: NodeJS.Signals) => Promise<void>,
): Promise<T> {
  const handled = SIGNALS.filter((signal) => process.listenerCount(signal) === 0);
  const forget = (): void => {
    for (const signal of handled) process.removeListener(signal, stop);
  };
  const stop = (signal: NodeJS.Signals): void => {
    forget();
    void close(signal).then(exitUnlessSettled);
  };
  for (const signal of handled) process.on(signal, stop);
  try {
    return await serve(handled.length > 0);
  } finally {
    forget();
  }
}

/**
 * Exits once nothing but handlers that ignore their cancellation keeps the event loop alive, or
 * nothing but child processes that handlers have left: both might do so for ever.
 */
export function exitUnlessSettled(): void {
  const exit = (what: string): void => {
    writeStderr(`trunkline: the process exits though ${what} go on: their server has ended\n`);
    process.exit();
  };
  const lookAtHandlers = (): void => {
    if (port().cancelIsIgnored) exit("handlers");
  };
  const before = children().length;
  const lookAtChildren = (): void => {
    const running = children();
    // Those that the program has started since are its own business, as is everything else.
    if (running.length === 0 || running.length > before) return;
    if (process.getActiveResourcesInfo().every((resource) => ofChildren.includes(resource))) exit("child processes");
  };
  setTimeout(lookAtHandlers, cancelledMs).unref();
  setTimeout(() => setInterval(lookAtChildren, cancelledMs).unref(), childrenMs).unref();
}

function children(): string[] {
  return process.getActiveResourcesInfo().filter((resource) => resource === "ProcessWrap");
}
