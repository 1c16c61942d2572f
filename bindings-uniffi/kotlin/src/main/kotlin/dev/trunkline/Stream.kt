package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.map
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import java.util.concurrent.ConcurrentLinkedDeque

/** An open stream: the result of the request that opened it, and requests about it. */
internal class Stream(private val ticket: ULong, val result: JsonElement) {
    suspend fun request(method: String, params: JsonElement? = null, options: RequestOptions? = null): JsonElement =
        Port.requests.send(ticket, method, params, options)

    /** The requests whose waits were cancelled: an item may have arrived for them at that moment. */
    private val abandoned = ConcurrentLinkedDeque<Deferred<Event>>()

    /** The next item; null when the stream has ended. */
    suspend fun next(): JsonElement? = try {
        received().takeIf { it !is JsonNull }
    } catch (_: ClosedException) {
        null
    }

    /** The items until the stream has ended. */
    fun items(): Flow<JsonElement> = flow { while (true) emit(next() ?: break) }

    private suspend fun received(): JsonElement {
        while (true) {
            val earlier = abandoned.poll() ?: return Port.requests.send(ticket, WaistMethods.NEXT, abandon = abandoned::add)
            try {
                return Port.requests.resultOf(awaitPort { earlier.await() })
            } catch (cancellation: CancellationException) {
                abandoned.addFirst(earlier)
                throw cancellation
            } catch (_: RequestCancelledException) {
                // The earlier request got no item.
            }
        }
    }

    fun close(): Unit = Port.core.cancel(ticket, "")
}

/** Changes at a server, in order of arrival. It survives reconnects, and must be closed. */
public class Subscription internal constructor(
    private val stream: Stream,
    /** The part of the filter that the server accepted. */
    public val honored: SubscriptionFilter,
) : AutoCloseable {
    /** The changes, until the subscription ends. */
    public val changes: Flow<Change> = stream.items().map { decoded(it) }

    /** Ends the subscription. */
    override fun close(): Unit = stream.close()
}

/** A tool call that runs as a task. [close] stops polling but doesn't cancel the task. */
public class ClientTask internal constructor(private val stream: Stream) : AutoCloseable {
    /** The latest known state; null if the server didn't create a task. */
    @Volatile
    public var state: Task? = if (stream.result is JsonNull) null else decoded(stream.result)
        private set

    /** The id of the task; null if the server didn't create a task. */
    public val id: String? get() = state?.taskId

    /** The states that follow, until the task ends. States in quick succession may be skipped. */
    public val states: Flow<Task> = stream.items().map { item -> decoded<Task>(item).also { state = it } }

    /** Waits for the task to end, and returns the result of the call. */
    public suspend fun result(options: RequestOptions.() -> Unit = {}): CallToolResult =
        decoded(stream.request("result", null, RequestOptions().apply(options)))

    /** Answers the `inputRequests` of the current state, by key, with `manualInput` (2026-07-28). */
    public suspend fun respond(responses: Map<String, JsonElement>) {
        stream.request("respond", jsonOf(responses))
    }

    /** Cancels the task. Has no effect once it has ended. */
    public suspend fun cancel() {
        stream.request("cancel")
    }

    override fun close(): Unit = stream.close()
}
