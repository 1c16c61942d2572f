package dev.trunkline

import dev.trunkline.internal.writeStderr
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlin.concurrent.thread

/** A record of the library's log. */
@Serializable
public class LogRecord internal constructor(
    /** `error`, `warn`, `info` or `debug`. */
    public val level: String,
    /** The message with the fields, for people, on one or more lines. */
    public val message: String,
    /** The subject, such as `trunkline::server::http`. */
    public val target: String,
    /** The message without the fields, for loggers that have some. */
    public val event: String = message,
    /** The fields, such as `tool`, `method`, `server` and `error`. */
    public val fields: JsonObject = JsonObject(emptyMap()),
)

private val toStandardError: (LogRecord) -> Unit =
    { record ->
        if (record.level == "error" || record.level == "warn") {
            write("[${record.target}] ${record.level}: ${record.message}\n")
        }
    }

/** Without the native library, a slow reader of standard error blocks. */
private fun write(text: String) = if (isShutDown) System.err.print(text) else writeStderr(text)

/** Receives the records of the library's log; by default, warnings and errors go to standard error. */
@Volatile
public var logger: (LogRecord) -> Unit = toStandardError

/** Receives a record of the core on the thread of the port, which a logger of the program must not block. */
internal fun receive(record: LogRecord) {
    if (logger == toStandardError) log(record) else queue.value.trySend(record)
}

internal fun log(record: LogRecord) {
    try {
        logger(record)
    } catch (error: Throwable) {
        toStandardError(record)
        write("[trunkline] error: the logger failed: $error\n")
    }
}

internal fun logError(message: String, error: Throwable, target: String = "trunkline", of: Callable? = null) {
    val reason = describe(error)
    // As the core logs failures.
    val (event, about) =
        when {
            of == null -> message to null
            of.tool == null -> "a handler failed" to ("feature" to of.name)
            else -> "a tool failed" to ("tool" to of.tool)
        }
    val fields = listOfNotNull(about, "error" to reason).associate { (name, value) -> name to JsonPrimitive(value) }
    log(LogRecord("error", "$message: $reason", target, event, JsonObject(fields)))
}

/** Calls a function of the program that answers no call. What it throws is logged, as callers wait for its end. */
internal inline fun callBack(what: String, call: () -> Unit) {
    try {
        call()
    } catch (error: Throwable) {
        logError("$what failed", error)
    }
}

/** An error for the log. Its own functions may throw, too. */
internal fun describe(error: Throwable): String = try {
    error.stackTraceToString().take(MAX_CHARACTERS)
} catch (_: Throwable) {
    error.javaClass.name
}

/** Records for a logger of the program, in order. If it is too slow, the oldest are dropped. */
private val queue =
    lazy {
        Channel<LogRecord>(MAX_RECORDS, BufferOverflow.DROP_OLDEST).also { records ->
            thread(isDaemon = true, name = "trunkline-log") { runBlocking { for (record in records) log(record) } }
        }
    }

/** Ends the thread of the queue, if there is one. */
internal fun shutDownLog() {
    if (queue.isInitialized()) queue.value.close()
}

private const val MAX_CHARACTERS = 16_384
private const val MAX_RECORDS = 1024
