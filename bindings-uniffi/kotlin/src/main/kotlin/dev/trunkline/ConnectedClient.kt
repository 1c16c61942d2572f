package dev.trunkline

import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.channelFlow
import kotlinx.serialization.KSerializer
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.serializer
import kotlin.time.Duration

/** A notification from a server. */
public data class Notification(
    /** The method, such as `notifications/message`. */
    val method: String,
    /** The parameters; empty if there are none. */
    val params: JsonObject,
)

/** The events of [Client.callToolFlow]: reports of progress, then the result. */
public sealed interface ToolEvent {
    /** A report of progress. */
    public data class Reported(val progress: Progress) : ToolEvent

    /** The result, which is the last event. */
    public data class Finished(val result: CallToolResult) : ToolEvent
}

/** The base of [Client] and [ClientGroup]. */
public abstract class ConnectedClient internal constructor(internal val connection: Connection) : ClientOperations() {
    override val requester: Requester get() = connection

    override val described: ConnectionDescription get() = connection.described

    internal val handle: ULong get() = connection.handle

    /** False once the client was closed or has lost a server that it cannot reach again. */
    public val isConnected: Boolean get() = connection.isOpen

    /** Notifications from the server, until the connection has ended. If they are collected too slowly, the newest are dropped. */
    public val notifications: Flow<Notification> get() = connection.notifications

    /** Sends a request that has no dedicated function, and returns its result. */
    public suspend fun request(method: String, params: JsonObject? = null, options: RequestOptions.() -> Unit = {}): JsonElement =
        connection.send(method, params, RequestOptions().apply(options))

    /** Sends a notification. */
    public fun notify(method: String, params: JsonObject = JsonObject(emptyMap())): Unit = connection.notify(method, params)

    /** Changes the roots. */
    @Deprecated("Since 2026-07-28: use tool arguments, resource URIs or configuration instead.")
    public fun setRoots(roots: List<Root>): Unit = Port.notify(handle, objectOf("roots" to roots))

    /**
     * Calls a tool, and emits its progress and then its result. If the collector is slow, reports are skipped, but not
     * the last. Ending the collection cancels the call.
     */
    public fun callToolFlow(name: String, arguments: JsonObject? = null, options: RequestOptions.() -> Unit = {}): Flow<ToolEvent> =
        channelFlow {
            val result =
                callTool(name, arguments) {
                    options()
                    val own = onProgress
                    onProgress = {
                        trySend(ToolEvent.Reported(it))
                        own?.invoke(it)
                    }
                }
            send(ToolEvent.Finished(result))
        }.buffer(MAX_EVENTS, BufferOverflow.DROP_OLDEST)

    /** Subscribes to changes of resources, lists and tasks. Works on every revision. */
    public suspend fun subscribe(filter: SubscriptionFilter, options: RequestOptions.() -> Unit = {}): Subscription {
        val stream = connection.stream("subscribe", encoded(filter), RequestOptions().apply(options))
        return Subscription(stream, decoded(stream.result))
    }

    /**
     * Calls a tool as a task, on any revision that supports tasks. If the server doesn't create a task, the returned
     * object has no id, and its result is available at once.
     */
    public suspend fun startTask(
        name: String,
        arguments: JsonObject? = null,
        ttl: Duration? = null,
        options: RequestOptions.() -> Unit = {},
    ): ClientTask {
        val params = objectOf("name" to name, "arguments" to arguments, "ttlMs" to ttl?.wholeMilliseconds())
        return ClientTask(connection.stream("startTask", params, RequestOptions().apply(options)))
    }

    /** Resumes a task by its id, for example one that an earlier run of the program started. */
    public suspend fun resumeTask(taskId: String, options: RequestOptions.() -> Unit = {}): ClientTask =
        ClientTask(connection.stream("startTask", objectOf("taskId" to taskId), RequestOptions().apply(options)))

    /** Closes the connection; requests in flight fail. A server that the client started gets [deadline] to exit. */
    public suspend fun close(deadline: Duration? = null): Unit = connection.close(deadline)

    /** Waits until the connection has ended, and returns the error that ended it, if any. */
    public suspend fun join(): RuntimeException? = connection.join()
}

/**
 * Calls a tool, and returns its structured content as a serializable class, or its text as a [String].
 *
 * @throws ToolException if the tool itself fails.
 * @throws TransportException if the content doesn't match the class.
 */
public suspend inline fun <reified R> ConnectedClient.callTool(
    name: String,
    arguments: JsonObject? = null,
    noinline options: RequestOptions.() -> Unit = {},
): R = callTool(name, arguments, options).read()

/** The text blocks, joined by line breaks. */
public val CallToolResult.text: String get() = content.filterIsInstance<TextContent>().joinToString("\n") { it.text }

/** The structured content as a serializable class, or the text as a [String]. */
public inline fun <reified R> CallToolResult.read(): R = read(serializer<R>())

@PublishedApi
internal fun <R> CallToolResult.read(serializer: KSerializer<R>): R {
    if (isError) throw ToolException(text)
    return received("the structured content is not that of ${serializer.descriptor.serialName}") {
        val unstructured = JsonPrimitive(text).takeIf { serializer.descriptor.kind == PrimitiveKind.STRING }
        val content = requireNotNull(structuredContent ?: unstructured) { "it is missing" }
        val value = (content as? JsonObject)?.get("result")?.takeIf { OutputSchema(serializer.descriptor).isWrapped } ?: content
        val isText = value is JsonPrimitive && (value.isString || value is JsonNull)
        valueOf(serializer, if (isText) value else unstructured ?: value)
    }
}

private const val MAX_EVENTS = 64
