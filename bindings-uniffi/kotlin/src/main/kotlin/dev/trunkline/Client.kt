package dev.trunkline

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.asSharedFlow
import kotlinx.coroutines.flow.channelFlow
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement
import kotlin.time.Duration

/** A notification from a server. */
public data class Notification(
    /** The method, such as `notifications/message`. */
    val method: String,
    /** The parameters; empty if there are none. */
    val params: JsonObject,
)

/** What [Client.callToolFlow] emits: reports of progress, then the result. */
public sealed interface ToolEvent {
    /** A report of progress. */
    public data class Reported(
        val progress: Progress,
    ) : ToolEvent

    /** The result, which is the last event. */
    public data class Finished(
        val result: CallToolResult,
    ) : ToolEvent
}

/** A connection to a server. */
public class Client private constructor(
    private val connection: Connection,
    private var opened: ConnectionDescription,
) : ClientOperations() {
    override val requester: Requester get() = connection

    override val described: ConnectionDescription
        get() {
            // With a pinned revision, the server is known a little later.
            if (opened.serverInfo == null) connection.describe()?.let { opened = it }
            return opened
        }

    internal val handle: ULong get() = connection.handle

    /** False once the client was closed or has lost a server that it cannot reach again. */
    public val isConnected: Boolean get() = connection.isOpen

    /** Notifications from the server. */
    public val notifications: Flow<Notification> get() = connection.notifications.asSharedFlow()

    /** Sends a request without a function of its own, and returns its result. */
    public suspend fun request(
        method: String,
        params: JsonObject? = null,
        options: RequestOptions.() -> Unit = {},
    ): JsonElement = Port.requests.send(handle, method, params, RequestOptions().apply(options))

    /** Sends a notification. */
    public fun notify(
        method: String,
        params: JsonObject = JsonObject(emptyMap()),
    ): Unit = connection.notify(method, params)

    /** Changes the roots. */
    public fun setRoots(roots: List<Root>): Unit = Port.notify(handle, objectOf("roots" to json.encodeToJsonElement(roots)))

    /** Calls a tool, and emits its progress and then its result. Ending the collection cancels the call. */
    public fun callToolFlow(
        name: String,
        arguments: JsonObject? = null,
        options: RequestOptions.() -> Unit = {},
    ): Flow<ToolEvent> =
        channelFlow {
            val result =
                callTool(name, arguments) {
                    options()
                    onProgress = { trySend(ToolEvent.Reported(it)) }
                }
            send(ToolEvent.Finished(result))
        }

    /** Subscribes to changes of resources, lists and tasks. Works on every revision. */
    public suspend fun subscribe(
        filter: SubscriptionFilter,
        options: RequestOptions.() -> Unit = {},
    ): Subscription {
        val stream = Stream.open(handle, "subscribe", json.encodeToJsonElement(filter), RequestOptions().apply(options))
        return Subscription(stream, json.decodeFromJsonElement(stream.result))
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
        val params = objectOf("name" to JsonPrimitive(name), "arguments" to arguments, "ttlMs" to ttl?.let { JsonPrimitive(it.wholeMilliseconds()) })
        return ClientTask(Stream.open(handle, "startTask", params, RequestOptions().apply(options)))
    }

    /** Resumes a task by its id, for example one that an earlier run of the program started. */
    public suspend fun resumeTask(
        taskId: String,
        options: RequestOptions.() -> Unit = {},
    ): ClientTask = ClientTask(Stream.open(handle, "startTask", objectOf("taskId" to JsonPrimitive(taskId)), RequestOptions().apply(options)))

    /** Closes the connection; requests in flight fail. A server that the client started has [deadline] to exit. */
    public suspend fun close(deadline: Duration? = null): Unit = connection.close(deadline)

    /** Waits until the connection has ended, and returns the error that ended it, if any. */
    public suspend fun join(): RuntimeException? = connection.end.await()

    /** Runs [work], and closes the connection. */
    public suspend inline fun <T> use(work: (Client) -> T): T =
        try {
            work(this)
        } finally {
            close()
        }

    public companion object {
        /** Connects to a server at a URL. */
        public suspend fun connect(
            url: String,
            endpoint: EndpointOptions.() -> Unit = {},
            auth: OAuthOptions? = null,
            options: ClientOptions.() -> Unit = {},
        ): Client {
            val given = json.encodeToJsonElement(EndpointOptions().apply(endpoint)) as JsonObject
            return open(JsonObject(given + objectOf("type" to JsonPrimitive("http"), "url" to JsonPrimitive(url))), auth, options)
        }

        /** Starts a program that serves over its stdin and stdout, and connects to it. */
        public suspend fun connect(
            command: List<String>,
            process: ChildOptions.() -> Unit = {},
            options: ClientOptions.() -> Unit = {},
        ): Client {
            val given = json.encodeToJsonElement(ChildOptions().apply(process)) as JsonObject
            return open(JsonObject(given + objectOf("type" to JsonPrimitive("child"), "command" to jsonOf(command))), null, options)
        }

        /** Connects to a server in this process. */
        public suspend fun connect(
            server: Server,
            options: ClientOptions.() -> Unit = {},
        ): Client = open(objectOf("type" to JsonPrimitive("memory"), "server" to number(server.handle)), null, options, server)

        /** Connects to a server of a configuration: an entry of `mcpServers`, or a configuration with one server. */
        public suspend fun connect(
            configuration: JsonObject,
            auth: OAuthOptions? = null,
            options: ClientOptions.() -> Unit = {},
        ): Client = open(objectOf("type" to JsonPrimitive("config"), "server" to configuration), auth, options)

        /** Connects by a transport of the program. */
        public suspend fun connect(
            transport: Transport,
            options: ClientOptions.() -> Unit = {},
        ): Client = open(objectOf("type" to JsonPrimitive("channel")), null, options, functions = transport.functions())

        private suspend fun open(
            transport: JsonObject,
            auth: OAuthOptions?,
            options: ClientOptions.() -> Unit,
            server: Server? = null,
            functions: Map<String, suspend (JsonObject) -> JsonObject> = emptyMap(),
        ): Client {
            val given = ClientOptions().apply(options)
            val connection = Connection(given, functions)
            server?.enter(connection)
            val listens = given.notificationHandlers.keys.any { it in ClientHandlers.SUBSCRIBING }
            val client = JsonObject((json.encodeToJsonElement(given) as JsonObject) + objectOf("listen" to TRUE.takeIf { listens }))
            val lanes = (given.requestHandlers.keys + functions.keys).associateWith { JsonPrimitive("queue") }
            val message =
                objectOf("client" to client, "transport" to transport, "handlers" to JsonObject(lanes), "auth" to auth?.let { json.encodeToJsonElement(it) })
            return Client(connection, json.decodeFromJsonElement(connection.open(message)))
        }
    }
}
