// Serving in the foreground: SIGINT and SIGTERM end it in good order.

import { writeStderr } from "./log.js";
import { port } from "./port.js";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** Time for handlers to return after their calls were cancelled. */
const cancelledMs = 500;

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
 * Exits once nothing but handlers that ignore their cancellation keeps the event loop alive, which
 * they might do for ever.
 */
export function exitUnlessSettled(): void {
  const exit = (): void => {
    if (!port().cancelIsIgnored) return;
    writeStderr("trunkline: the process exits though handlers go on: their server has ended\n");
    process.exit();
  };
  setTimeout(exit, cancelledMs).unref();
}
