// The log of the core.

export type LogLevel = "error" | "warn" | "info" | "debug";

export interface LogRecord {
  level: LogLevel;
  message: string;
  /** The part of the core that speaks. */
  target: string;
}

export type Logger = (record: LogRecord) => void;

const toStderr: Logger = ({ level, message, target }) => {
  if (level === "error" || level === "warn") process.stderr.write(`[${target}] ${level}: ${message}\n`);
};

let logger = toStderr;

/** Sends the log records of this thread to a function of yours; without one, warnings and errors go to stderr, which is the default. */
export function setLogger(other?: Logger): void {
  logger = other ?? toStderr;
}

export function log(records: readonly LogRecord[]): void {
  for (const record of records) logger(record);
}
