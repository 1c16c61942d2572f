package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** Sends requests to the server of a client, or to the client of a call. */
internal fun interface Requester {
    suspend fun request(method: String, params: JsonObject, options: RequestOptions?): JsonElement
}

/** The requests of this process in flight, by ticket. */
internal class Requests(private val core: NativePort) {
    private val pending = ConcurrentHashMap<ULong, Pending>()

    /**
     * Sends a request and waits for its reply. If the coroutine is cancelled, so is the request. With [causes], it
     * leads to calls in this process, which inherit the context of the coroutine.
     */
    suspend fun send(
        target: ULong,
        method: String,
        params: JsonElement? = null,
        options: RequestOptions? = null,
        causes: Boolean = false,
        abandon: (Deferred<Event>) -> Unit = {},
    ): JsonElement = reply(start(target, method, params, options, if (causes) currentCoroutineContext() else null), abandon = abandon)

    /** Sends a request. Returns its ticket, for [reply]. */
    fun start(target: ULong, method: String, params: JsonElement?, options: RequestOptions?, cause: CoroutineContext? = null): ULong {
        val message = message(method, params, options).with("causes" to cause?.let { true })
        val telemetry = Port.telemetry
        val sending = telemetry?.sending(target, message)
        val text = message.with("trace" to sending?.trace).toString()
        val send = { native { core.request(target, text) } }
        val ticket = if (cause == null) send() else Port.causing(cause, send)
        if (sending != null) of(ticket).reply.invokeOnCompletion { telemetry.ended(ticket, sending) }
        options?.onProgress?.let(of(ticket)::report)
        return ticket
    }

    /**
     * Waits for the reply with this ticket. If the coroutine is cancelled, [cancel] is called, and [abandon] with the
     * reply, which may be a result all the same.
     */
    suspend fun reply(
        ticket: ULong,
        cancel: () -> Unit = { core.cancel(ticket, "") },
        abandon: (Deferred<Event>) -> Unit = {},
    ): JsonElement {
        val request = of(ticket)
        val reply = request.reply
        reply.invokeOnCompletion { pending.remove(ticket) }
        val event =
            try {
                awaitPort { reply.await() }
            } catch (cancellation: CancellationException) {
                // The request may have ended in the core.
                runCatching(cancel)
                abandon(reply)
                throw cancellation
            }
        // An error, such as a timeout, does not wait for a report.
        if (event.ok) request.reporting?.join()
        return resultOf(event)
    }

    /** The result of a request, or its error: created here, so that its stack leads to the caller. */
    fun resultOf(reply: Event): JsonElement {
        val text = reply.body.decodeToString()
        return if (reply.ok) json.parseToJsonElement(text) else throw exceptionOf(text)
    }

    fun receiveReply(event: Event): Unit = of(event.ticket).end(event)

    fun fail(ticket: ULong, error: InternalException) {
        of(ticket).reply.completeExceptionally(error)
    }

    fun receiveProgress(event: Event): Unit =
        of(event.ticket).receive(json.decodeFromString(Progress.serializer(), event.body.decodeToString()))

    /** The request with this ticket. Its reply may arrive before the core has returned the ticket. */
    private fun of(ticket: ULong): Pending = pending.computeIfAbsent(ticket) { Pending() }

    private fun message(method: String, params: JsonElement?, options: RequestOptions?): JsonObject {
        if (options == null) return objectOf("method" to method, "params" to params)
        val full = options.meta?.let { JsonObject((params as? JsonObject).orEmpty() + ("_meta" to it)) } ?: params
        val written = written(RequestOptions.serializer(), options, "the options", json) as JsonObject
        return written.with("method" to method, "params" to full, "progress" to options.onProgress?.let { true })
    }

    /** A request in flight. Progress is not reported on the thread of the port, because the program may block there. */
    private class Pending {
        val reply = CompletableDeferred<Event>()

        /** The progress still to be reported; later progress replaces it. */
        private val latest = Channel<Progress>(Channel.CONFLATED)

        /** Ends with the last report. The reply may arrive before this starts. */
        var reporting: Job? = null
            private set

        fun report(report: (Progress) -> Unit) {
            reporting = reports.launch { for (progress in latest) callBack("onProgress") { report(progress) } }
        }

        fun receive(progress: Progress) {
            latest.trySend(progress)
        }

        fun end(event: Event) {
            latest.close()
            reply.complete(event)
        }
    }
}

private val reports = CoroutineScope(SupervisorJob() + callbacks)

/** Whole milliseconds, rounded up, so that no time becomes none. */
internal fun Duration.wholeMilliseconds(): Long {
    if (isNegative()) throw InvalidArgumentException("a time must not be negative: $this")
    val whole = inWholeMilliseconds
    return if (whole.milliseconds < this) whole + 1 else whole
}
