package dev.trunkline

import dev.trunkline.internal.writeStderr
import kotlinx.serialization.Serializable

/** A record of the library's log. */
@Serializable
public class LogRecord internal constructor(
    /** `error`, `warn`, `info` or `debug`. */
    public val level: String,
    /** The message, on one or more lines. */
    public val message: String,
    /** The subject, such as `trunkline::server::http`. */
    public val target: String,
)

/** Receives the records of the library's log; by default, warnings and errors go to standard error. */
@Volatile
public var logger: (LogRecord) -> Unit = ::toStandardError

internal fun log(records: List<LogRecord>) {
    for (record in records) {
        try {
            logger(record)
        } catch (error: Exception) {
            toStandardError(record)
            writeStderr("[trunkline] error: the logger failed: $error\n")
        }
    }
}

internal fun logError(message: String, error: Throwable, target: String = "trunkline") {
    log(listOf(LogRecord("error", "$message: ${describe(error)}", target)))
}

/** Calls a function of the program that answers no call. Its exceptions are logged. */
internal inline fun callBack(what: String, call: () -> Unit) {
    try {
        call()
    } catch (error: Exception) {
        logError("$what failed", error)
    }
}

/** An error for the log. */
internal fun describe(error: Throwable): String = error.stackTraceToString().take(MOST_CHARACTERS)

private fun toStandardError(record: LogRecord) {
    if (record.level == "error" || record.level == "warn") {
        writeStderr("[${record.target}] ${record.level}: ${record.message}\n")
    }
}

private const val MOST_CHARACTERS = 16_384
