package dev.trunkline

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.yield
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.serializer
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.CoroutineContext

/** The context of the call that this coroutine answers. Throws outside of one. */
public suspend fun currentContext(): Context =
    currentCoroutineContext()[Context] ?: error("only the handlers of a server or client have a context")

/**
 * The call that a handler answers, and messages to its client. It is an element of the coroutine's context, which its
 * children inherit. If the caller cancels the call, its coroutine is cancelled.
 */
public class Context internal constructor(internal val ticket: ULong, private val owner: Owner? = null) :
    ClientRequests(),
    CoroutineContext.Element {
    override val key: CoroutineContext.Key<*> get() = Key

    /** False once the call is answered. */
    @Volatile
    internal var isOpen: Boolean = true

    /** False until the handler runs. */
    @Volatile
    internal var hasBegun: Boolean = false

    /** The thread of a handler in Java. */
    @Volatile
    internal var thread: Thread? = null
    private val facts by lazy { Port.describe(ticket) }
    override val described: CallDescription by lazy { decoded(facts) }

    /** The principal, if the access token of the call was verified. */
    internal val caller: Any? by lazy {
        // A call that is over has no description.
        val identity = runCatching { described.auth }.getOrNull()
        identity?.principal ?: identity?.let { Triple(it.issuer, it.subject, it.clientId) }
    }

    override val requester: Requester = Requester { method, params, options ->
        Port.requests.send(ticket, method, params.takeIf { it.isNotEmpty() }, options)
    }

    /** The values of [once], by name. */
    private val done = ConcurrentHashMap<String, CompletableDeferred<JsonElement>>()

    /** Messages of progress and logs that the handler has sent. */
    private val sent = AtomicInteger()

    /** The value that the server's `lifespan` opened. */
    public inline fun <reified T> lifespan(): T = opened() as T

    @PublishedApi
    internal fun opened(): Any? = owner?.lifespan?.value

    /** Reports progress if the caller requested it. Values that don't increase are dropped. */
    public suspend fun progress(progress: Double, total: Double? = null, message: String? = null): Unit =
        report("progress" to progress, "total" to total, "message" to message)

    /** Sends a log message to the client, if it accepts messages of that level. */
    @Deprecated("Since 2026-07-28: log to standard error or through OpenTelemetry instead.")
    public suspend fun log(level: LoggingLevel, data: JsonElement, logger: String? = null): Unit =
        report("log" to objectOf("level" to level, "data" to data, "logger" to logger))

    /** Sends a log message of the level `info`. */
    @Deprecated("Since 2026-07-28: log to standard error or through OpenTelemetry instead.")
    @Suppress("DEPRECATION")
    public suspend fun logInfo(message: String): Unit = log(LoggingLevel.INFO, JsonPrimitive(message))

    /** Sends a log message of the level `error`. */
    @Deprecated("Since 2026-07-28: log to standard error or through OpenTelemetry instead.")
    @Suppress("DEPRECATION")
    public suspend fun logError(message: String): Unit = log(LoggingLevel.ERROR, JsonPrimitive(message))

    /** Runs [work] once per request, even if the handler is rerun. Later runs get its value. */
    public suspend inline fun <reified T> once(name: String, noinline work: suspend () -> T): T = once(name, serializer<T>(), work)

    @PublishedApi
    internal suspend fun <T> once(name: String, serializer: KSerializer<T>, work: suspend () -> T): T {
        val own = CompletableDeferred<JsonElement>()
        val value = ofOther(name, own) ?: first(name, own) { written(serializer, work(), "once($name)") }
        return values.decodeFromJsonElement(serializer, value)
    }

    /** The value of another coroutine; null if none runs the work, or the one that did was cancelled. */
    private suspend fun ofOther(name: String, own: CompletableDeferred<JsonElement>): JsonElement? {
        while (true) {
            val other = done.putIfAbsent(name, own) ?: return null
            try {
                return other.await()
            } catch (cancellation: CancellationException) {
                if (cancellation is Suspended) throw cancellation
                currentCoroutineContext().ensureActive()
            }
        }
    }

    private suspend fun first(name: String, own: CompletableDeferred<JsonElement>, work: suspend () -> JsonElement): JsonElement = try {
        val known = (facts["once"] as? JsonObject)?.get(name)
        val value = known ?: work().also { send(objectOf("once" to objectOf("name" to name, "value" to it))) }
        value.also(own::complete)
    } catch (error: Throwable) {
        done.remove(name)
        own.completeExceptionally(error)
        throw error
    }

    /** Turns this call into a task, if the tool has `deferTask` and the client supports tasks. */
    public fun startTask(): Unit = tell("startTask" to true)

    /** Sets the status message of the task. Has no effect if the call is not a task. */
    public fun setTaskMessage(text: String): Unit = tell("taskMessage" to text)

    /** Closes the stream that the client waits on, if it can reconnect for the result. */
    public fun closeStream(): Unit = tell("closeStream" to true)

    /**
     * Asks the client's user to fill in the properties of a serializable class.
     */
    public suspend inline fun <reified T : Any> elicit(message: String, noinline options: RequestOptions.() -> Unit = {}): Elicited<T> =
        elicit(message, serializer<T>(), options)

    @PublishedApi
    internal suspend fun <T : Any> elicit(message: String, serializer: KSerializer<T>, options: RequestOptions.() -> Unit): Elicited<T> {
        // Not a FormSchema: the core makes a form of it, without null.
        val params = objectOf("message" to message, "requestedSchema" to schemaOf(serializer.descriptor))
        val result: ElicitResult = decoded(requester.request(Methods.ELICIT, params, RequestOptions().apply(options)))
        return when (result.action) {
            ElicitAction.ACCEPT ->
                Elicited.Accept(
                    received("the response is not that of the form") { valueOf(serializer, result.content ?: NOTHING) },
                )

            ElicitAction.DECLINE -> Elicited.Decline

            else -> Elicited.Cancel
        }
    }

    /** Runs the rest of a request, for middleware. */
    internal suspend fun proceed(params: JsonObject?): JsonObject =
        Port.requests.send(ticket, WaistMethods.NEXT, params, causes = true) as JsonObject

    /** Lets other coroutines run in between: a dispatcher has few threads, and a flood of messages would keep one. */
    private suspend fun report(vararg members: Pair<String, Any?>) {
        tell(*members)
        if (sent.incrementAndGet() % MESSAGES_IN_A_ROW == 0) yield()
    }

    private fun tell(vararg members: Pair<String, Any?>) = tell(objectOf(*members))

    internal fun tell(message: JsonObject) {
        if (isOpen) send(message)
    }

    private fun send(message: JsonObject) {
        try {
            Port.notify(ticket, message)
        } catch (error: TrunklineException) {
            // The call may have ended in the core before this coroutine is cancelled.
            if (!Port.core.cancelled(ticket)) throw error
        }
    }

    public companion object Key : CoroutineContext.Key<Context>
}

private const val MESSAGES_IN_A_ROW = 16
