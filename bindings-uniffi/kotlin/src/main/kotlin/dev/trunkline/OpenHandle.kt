package dev.trunkline

import kotlinx.coroutines.CompletableDeferred
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlin.time.Duration

/**
 * The common part of listeners and connections: they open, and close once.
 *
 * @param server The server of a listener, whose options have the time that its calls are left.
 */
internal open class OpenHandle(
    private val server: ULong = NONE,
) : HandleOwner {
    @Volatile
    var handle: ULong = NONE
        private set

    /** Completed once this has closed, with the error that closed it, if any. */
    val end: CompletableDeferred<RuntimeException?> = CompletableDeferred()

    val isOpen: Boolean get() = handle != NONE && !end.isCompleted

    /** Opens it, and returns the result. If the coroutine is cancelled meanwhile, it is closed. */
    suspend fun open(message: JsonObject): JsonElement = opened { Port.open(message, this) }

    suspend fun opened(open: () -> ULong): JsonElement {
        val opening = open()
        handle = opening
        try {
            return Port.requests.reply(opening) { Port.core.close(opening, 0u) }
        } catch (error: TrunklineException) {
            // It gets no event `Closed`.
            Port.forget(opening)
            end.complete(error)
            throw error
        }
    }

    /** Closes it, and waits for its end. By default, calls in flight have the time that the options leave them. */
    suspend fun close(deadline: Duration? = null) {
        if (isOpen) {
            val options = if (server == NONE) handle else server
            val milliseconds = deadline?.wholeMilliseconds()?.toULong() ?: native { Port.core.closeDeadlineMs(options) }
            native { Port.core.close(handle, milliseconds) }
        }
        if (handle != NONE) end.await()
    }

    override fun closed(error: RuntimeException?) {
        end.complete(error)
    }
}
