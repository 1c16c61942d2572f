// Serving in the foreground: SIGINT and SIGTERM end it in good order.

import { port } from "./port.js";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** Time for handlers to return after their calls were cancelled. */
const cancelledMs = 500;

/**
 * Waits for the end. At a signal for which the program has no handler, `close` brings the end; a
 * second one acts as if nobody handled it. `share` lets the core take the signals, too, which ends
 * a process whose event loop is blocked.
 */
export async function endedBySignals<T>(end: Promise<T>, close: () => Promise<void>, share?: () => void): Promise<T> {
  const handled = SIGNALS.filter((signal) => process.listenerCount(signal) === 0);
  const forget = (): void => {
    for (const signal of handled) process.removeListener(signal, stop);
  };
  const stop = (): void => {
    forget();
    void close().then(exitUnlessSettled);
  };
  for (const signal of handled) process.on(signal, stop);
  if (handled.length > 0) share?.();
  try {
    return await end;
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
    console.error("trunkline: the process exits though handlers go on: their server has ended");
    process.exit(1);
  };
  setTimeout(exit, cancelledMs).unref();
}
