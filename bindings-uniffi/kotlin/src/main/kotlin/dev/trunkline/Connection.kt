package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.onSubscription
import kotlinx.coroutines.flow.transformWhile
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

/** The connection of a client, with the handlers of its server's requests and notifications. */
internal class Connection(
    private val handlers: ClientHandlers,
    private val functions: Map<String, suspend (JsonObject) -> JsonObject>,
    private val server: Server?,
    /** Runs the handlers of notifications, which may block. */
    dispatcher: CoroutineDispatcher,
) : OpenHandle(server),
    Requester {
    /** The deadline of a close is an option of the client. */
    override val optionsOf: ULong? get() = null

    /** Null is the end. */
    private val handled =
        MutableSharedFlow<Notification?>(extraBufferCapacity = KEPT_NOTIFICATIONS, onBufferOverflow = BufferOverflow.DROP_OLDEST)

    @Volatile
    private var hasEnded = false

    /** The notifications that arrive while it is collected, until the connection has ended. */
    val notifications: Flow<Notification> =
        handled.onSubscription { if (hasEnded) emit(null) }.transformWhile {
            if (it != null) emit(it)
            it != null
        }

    /** In order, and not on the thread of the port, because a handler may block. */
    private val received =
        Channel<Notification>(KEPT_NOTIFICATIONS, BufferOverflow.DROP_OLDEST) {
            receive(LogRecord("warn", "a handler of notifications is too slow: ${it.method} was dropped", "trunkline::client"))
        }
    private val scope = CoroutineScope(SupervisorJob() + dispatcher)

    init {
        scope.launch {
            for (notification in received) handle(notification)
            hasEnded = true
            handled.tryEmit(null)
        }
    }

    /** What is known of the server since the connection opened. */
    private lateinit var opened: ConnectionDescription

    val described: ConnectionDescription
        get() {
            // A restart changes it, and with a pinned revision, the server is known a little later.
            val now = describe()?.let { decoded<ConnectionDescription>(it) }
            opened = now ?: with(opened) { ConnectionDescription(revision, serverInfo, capabilities, instructions) }
            return opened
        }

    /** What is currently known about the server; nothing once the connection has ended. */
    fun describe(): JsonObject? = runCatching { Port.describe(handle) }.getOrNull()

    /** What a function of the program, such as `onOpenUrl`, has thrown last. */
    @Volatile
    private var thrown: Exception? = null

    override suspend fun request(method: String, params: JsonObject, options: RequestOptions?): JsonElement = send(method, params, options)

    suspend fun send(method: String, params: JsonElement?, options: RequestOptions?): JsonElement =
        explained { Port.requests.send(handle, method, params, options, causes = server != null) }

    override suspend fun open(message: JsonObject): JsonElement = explained { super.open(message) }

    /** Adds what the program itself has thrown to the error that this led to, which only has its message. */
    private inline fun <T> explained(work: () -> T): T = try {
        work()
    } catch (error: TrunklineException) {
        thrown?.takeIf { messageOf(it) in error.message.orEmpty() }?.let(error::addSuppressed)
        throw error
    }

    suspend fun stream(method: String, params: JsonElement, options: RequestOptions?): Stream {
        val ticket = Port.requests.start(handle, method, params, options, if (server == null) null else currentCoroutineContext())
        return Stream(ticket, Port.requests.reply(ticket))
    }

    fun notify(method: String, params: JsonObject) {
        val message = objectOf("method" to method, "params" to params)
        val span = Port.telemetry?.starting(handle, message.with("notification" to true))
        Port.notify(handle, message.with("span" to span))
    }

    override fun receiveNotification(method: String, params: JsonObject) {
        received.trySend(Notification(method, params))
    }

    override fun callable(operation: String): Callable? {
        val handler = handlers.requestHandlers[operation] ?: functions[operation] ?: return null
        return Callable("the handler $operation") {
            try {
                Answer(Shape.RESULT, handler(it as JsonObject))
            } catch (error: Exception) {
                // The program itself calls these functions, and gets the message.
                if (operation !in ClientHandlers.OWN + functions.keys || error is Suspended || error is CallCancelled) throw error
                thrown = (error as? Failed)?.cause as? Exception ?: error
                throw ToolException(messageOf(error), error)
            }
        }
    }

    override fun closed(error: RuntimeException?) {
        received.close()
        super.closed(error)
    }

    private fun handle(notification: Notification) {
        val (method, params) = notification
        handlers.notificationHandlers[method]?.let { callBack("the handler of $method") { it(params) } }
        handled.tryEmit(notification)
    }

    companion object {
        private const val KEPT_NOTIFICATIONS = 1024

        suspend fun open(
            transport: JsonObject,
            auth: OAuthOptions?,
            options: ClientOptions.() -> Unit,
            server: Server? = null,
            functions: Map<String, suspend (JsonObject) -> JsonObject> = emptyMap(),
        ): Connection = open(transport, auth?.let { encoded(it) }, ClientOptions().apply(options), server, functions)

        suspend fun open(
            transport: JsonObject,
            auth: JsonObject?,
            given: ClientOptions,
            server: Server?,
            functions: Map<String, suspend (JsonObject) -> JsonObject>,
            dispatcher: CoroutineDispatcher = Dispatchers.IO,
        ): Connection {
            val connection = Connection(given, functions, server, dispatcher)
            val listens = given.notificationHandlers.keys.any { it in ClientHandlers.SUBSCRIBING }
            given.telemetry = Port.observes(given.telemetry)
            val span = if (given.telemetry == true) Port.telemetry?.starting(NONE, objectOf("method" to "open")) else null
            val message =
                objectOf(
                    "client" to encoded(given).with("listen" to true.takeIf { listens }),
                    "transport" to transport,
                    "handlers" to (given.requestHandlers + functions).mapValues { "queue" },
                    "auth" to auth,
                    "span" to span,
                )
            connection.opened = decoded(connection.open(message))
            return connection
        }
    }
}
