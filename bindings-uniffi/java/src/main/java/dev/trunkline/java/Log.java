package dev.trunkline.java;

import dev.trunkline.jvm.Jvm;
import java.util.Map;

/** The log of the library; by default, warnings and errors go to standard error. */
public final class Log {
  private Log() {}

  /** Receives the records of the log. */
  public static void setLogger(Logger logger) {
    Failures.given("the logger", logger);
    Jvm.setLogger(
        (record, fields) ->
            logger.log(
                new Record(
                    record.getLevel(),
                    record.getMessage(),
                    record.getTarget(),
                    record.getEvent(),
                    fields)));
  }

  /** Receives the records of the log. */
  @FunctionalInterface
  public interface Logger {
    /** Receives a record. */
    void log(Record record);
  }

  /**
   * A record of the log.
   *
   * @param level {@code error}, {@code warn}, {@code info} or {@code debug}
   * @param message the message with the fields, for people, on one or more lines
   * @param target the subject, such as {@code trunkline::server::http}
   * @param event the message without the fields, for loggers that have some
   * @param fields the fields, such as {@code tool}, {@code method}, {@code server} and {@code
   *     error}: strings, numbers and booleans
   */
  public record Record(
      String level, String message, String target, String event, Map<String, Object> fields) {}
}
