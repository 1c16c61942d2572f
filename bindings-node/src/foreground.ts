// Serving in the foreground: SIGINT and SIGTERM end it in good order.

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Waits for the end. At a signal for which the program has no handler, `close` brings the end; a
 * second one acts as if nobody handled it.
 */
export async function endedBySignals<T>(end: Promise<T>, close: () => Promise<void>): Promise<T> {
  const handled = SIGNALS.filter((signal) => process.listenerCount(signal) === 0);
  const forget = (): void => {
    for (const signal of handled) process.removeListener(signal, stop);
  };
  const stop = (): void => {
    forget();
    void close();
  };
  for (const signal of handled) process.on(signal, stop);
  try {
    return await end;
  } finally {
    forget();
  }
}
