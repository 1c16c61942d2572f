package dev.trunkline.java;

import dev.trunkline.jvm.Jvm;

/** The log of the library; by default, warnings and errors go to standard error. */
public final class Log {
  private Log() {}

  /** Receives the records of the log. */
  public static void setLogger(Logger logger) {
    Failures.given("the logger", logger);
    Jvm.setLogger(record -> logger.log(record.getLevel(), record.getMessage(), record.getTarget()));
  }

  /** Receives the records of the log. */
  @FunctionalInterface
  public interface Logger {
    /**
     * Receives a record.
     *
     * @param level {@code error}, {@code warn}, {@code info} or {@code debug}
     * @param message the message, on one or more lines
     * @param target the subject, such as {@code trunkline::server::http}
     */
    void log(String level, String message, String target);
  }
}
