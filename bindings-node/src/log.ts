// Log records of the core.

export type LogLevel = "error" | "warn" | "info" | "debug";

export interface LogRecord {
  level: LogLevel;
  message: string;
  /** The subject, such as `trunkline::server::http` or `trunkline::access`. */
  target: string;
  /** The value that a handler threw, of a record about that. */
  error?: unknown;
}

export type Logger = (record: LogRecord) => void;

const toStderr: Logger = ({ level, message, target }) => {
  if (level === "error" || level === "warn") process.stderr.write(`[${target}] ${level}: ${message}\n`);
};

let logger = toStderr;

/** Sets the logger of this thread. The default writes warnings and errors to stderr. */
export function setLogger(other?: Logger): void {
  logger = other ?? toStderr;
}

export function log(records: readonly LogRecord[]): void {
  for (const record of records) logger(record);
}
