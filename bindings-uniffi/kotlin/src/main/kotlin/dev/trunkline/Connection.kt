package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.emitAll
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import java.util.concurrent.ConcurrentHashMap

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
    override val isServing: Boolean get() = false

    /** One for each collector of [notifications]. */
    private val readers = ConcurrentHashMap.newKeySet<Backlog>()

    @Volatile
    private var hasEnded = false

    /** The notifications that arrive while it is collected, until the connection has ended. */
    val notifications: Flow<Notification> =
        flow {
            val reader = Backlog()
            readers.add(reader)
            if (hasEnded) reader.close()
            try {
                emitAll(reader.taken.map { it.notification })
            } finally {
                readers.remove(reader)
            }
        }

    /** In order, and not on the thread of the port, because a handler may block. */
    private val received = Backlog()
    private val scope = CoroutineScope(SupervisorJob() + dispatcher)

    init {
        scope.launch {
            received.taken.collect { handle(it) }
            hasEnded = true
            readers.forEach { it.close() }
        }
    }

    /** The last known description of the server. */
    private lateinit var opened: ConnectionDescription

    val described: ConnectionDescription
        get() {
            // A restart changes it, and with a pinned revision, the server is known a little later.
            val now = describe()?.let { decoded<ConnectionDescription>(it) }
            opened = now ?: with(opened) { ConnectionDescription(revision, serverInfo, capabilities, instructions) }
            return opened
        }

    /** The current description of the server; null once the connection has ended. */
    fun describe(): JsonObject? = runCatching { Port.describe(handle) }.getOrNull()

    /** The last exception of a function of the program, such as `onOpenUrl`. */
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

    override fun receiveNotification(method: String, params: JsonObject, bytes: Int) {
        received.add(Received(Notification(method, params), bytes.toLong()))
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

    private fun handle(arrived: Received) {
        val (method, params) = arrived.notification
        handlers.notificationHandlers[method]?.let { callBack("the handler of $method") { it(params) } }
        readers.forEach { it.add(arrived) }
    }

    companion object {
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
