package dev.trunkline

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.decodeFromJsonElement

/** The connection of a client, with the handlers of its server's requests and notifications. */
internal class Connection(
    private val handlers: ClientHandlers,
    private val functions: Map<String, suspend (JsonObject) -> JsonObject>,
) : OpenHandle(),
    Requester {
    val notifications = MutableSharedFlow<Notification>(extraBufferCapacity = KEPT_NOTIFICATIONS, onBufferOverflow = BufferOverflow.DROP_OLDEST)

    /** In order, and not on the thread of the port, because a handler may block. */
    private val received = Channel<Notification>(Channel.UNLIMITED)
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)

    init {
        scope.launch { for (notification in received) handle(notification) }
    }

    /** What is currently known about the server; nothing once the connection has ended. */
    fun describe(): ConnectionDescription? =
        try {
            json.decodeFromJsonElement(Port.describe(handle))
        } catch (_: TrunklineException) {
            null
        }

    override suspend fun request(
        method: String,
        params: JsonObject,
        options: RequestOptions?,
    ): JsonElement = Port.requests.send(handle, method, params, options)

    override fun notify(
        method: String,
        params: JsonObject,
    ) = Port.notify(handle, objectOf("method" to JsonPrimitive(method), "params" to params))

    override fun receiveNotification(
        method: String,
        params: JsonObject,
    ) {
        received.trySend(Notification(method, params))
    }

    override fun callable(operation: String): Callable? {
        val handler = handlers.requestHandlers[operation] ?: functions[operation] ?: return null
        return Callable("the handler $operation") {
            try {
                Answer(Shape.RESULT, handler(it as JsonObject))
            } catch (error: Exception) {
                // The program itself calls these functions, and gets the message.
                if (operation !in ClientHandlers.OWN || error is Suspended || error is CallCancelled) throw error
                throw ToolException(error.message ?: error.toString(), error)
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
        notifications.tryEmit(notification)
    }

    private companion object {
        const val KEPT_NOTIFICATIONS = 1024
    }
}
