package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/**
 * The common part of listeners and connections: they open, and close once.
 *
 * @param server The server that a listener or a connection in memory uses.
 */
internal open class OpenHandle(private val server: Server? = null) {
    @Volatile
    var handle: ULong = NONE
        private set

    /** Completed once this has closed, and the lifespan with it, with the error that closed it, if any. */
    val end: CompletableDeferred<RuntimeException?> = CompletableDeferred()

    /** Waits until it has closed. */
    suspend fun join(): RuntimeException? = awaitPort { end.await() }

    /** Closed before it opened, by a signal. */
    @Volatile
    private var isClosing = false

    /** The handle whose options have the deadline of a close, if it is not this one. */
    protected open val optionsOf: ULong? get() = server?.handle

    /** True if this serves callers outside of the process. */
    open val isServing: Boolean get() = true

    /** When calls in flight are cancelled, once the program closes this. */
    @Volatile
    private var cancelsAt: TimeMark? = null

    val isOpen: Boolean get() = handle != NONE && !end.isCompleted

    /** Opens it, and returns the result. If the coroutine is cancelled meanwhile, it is closed. */
    open suspend fun open(message: JsonObject): JsonElement = opened { Port.open(message, this) }

    suspend fun opened(open: () -> ULong): JsonElement {
        val opening =
            try {
                server?.enter(this)
                if (isClosing) throw ClosedException("it was closed before it opened")
                open().also { handle = it }
            } catch (error: Throwable) {
                closed(null)
                throw error
            }
        // A close that came before the handle was known had nothing to close. It may have failed already.
        if (isClosing) runCatching { Port.core.close(opening, 0u) }
        try {
            return Port.requests.reply(opening, { Port.core.close(opening, 0u) }) { abandoned(opening, it) }
        } catch (error: TrunklineException) {
            failed(opening, error)
            throw server?.owner?.lifespan?.causeOf(error) ?: error
        }
    }

    /** The coroutine was cancelled. It may fail all the same. */
    @OptIn(ExperimentalCoroutinesApi::class)
    private fun abandoned(opening: ULong, reply: Deferred<Event>) {
        reply.invokeOnCompletion {
            val lost = reply.getCompletionExceptionOrNull() as? RuntimeException
            val late = if (lost == null) reply.getCompleted() else null
            if (late?.ok != true) failed(opening, lost ?: exceptionOf(late?.body?.decodeToString().orEmpty()))
        }
    }

    /** Ends a failed opening, which gets no event `Closed`. */
    private fun failed(opening: ULong, error: RuntimeException) {
        Port.forget(opening)
        closed(error)
    }

    /** Closes it, and waits for its end. By default, calls in flight have the time that the options leave them. */
    suspend fun close(deadline: Duration? = null) {
        isClosing = true
        if (isOpen) {
            val milliseconds = deadline?.wholeMilliseconds()?.toULong() ?: defaultDeadline()
            // A server that was closed has no options left, but has begun to close this.
            if (milliseconds != null) {
                cancelsAt = TimeSource.Monotonic.markNow() + milliseconds.toLong().milliseconds
                native { Port.core.close(handle, milliseconds) }
            }
        }
        if (handle != NONE) join()
    }

    private fun defaultDeadline(): ULong? = runCatching { Port.core.closeDeadlineMs(optionsOf ?: handle) }.getOrNull()

    /**
     * Closes this at the exit of the process. The program may be about to close it with a longer deadline, and the core
     * keeps the earliest, so the deadline is only set once it has passed.
     */
    suspend fun drain() {
        val usual = (defaultDeadline() ?: 0uL).toLong().milliseconds
        runCatching { Port.core.close(handle, NO_DEADLINE_MS) }
        withTimeoutOrNull(usual) { end.await() }
        while (!end.isCompleted && isClosing && cancelsAt?.hasPassedNow() == false) {
            cancelsAt?.let { withTimeoutOrNull(-it.elapsedNow()) { end.await() } }
        }
        runCatching { Port.core.close(handle, 0u) }
        withTimeoutOrNull(CANCEL_TIMEOUT) { end.await() }
    }

    open fun receiveNotification(method: String, params: JsonObject, bytes: Int) {}

    /** The handler of a request of the server. */
    open fun callable(operation: String): Callable? = null

    open fun closed(error: RuntimeException?) {
        server?.leave(this)
        end.complete(error)
    }
}

private const val NO_DEADLINE_MS: ULong = 86_400_000uL

/** Cancelled handlers and a lifespan have this long to end at the exit of the process. */
private val CANCEL_TIMEOUT = 1.seconds
