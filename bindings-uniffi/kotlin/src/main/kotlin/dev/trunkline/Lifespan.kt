package dev.trunkline

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.isActive
import java.util.concurrent.atomic.AtomicReference

/** Opens before the first call of a server and closes after its last. The core calls for both. */
internal class Lifespan(private val open: suspend () -> Any?) {
    private val current = AtomicReference<Any?>()

    /** The opened value. */
    val value: Any? get() = current.get()

    /** The last error of [open]. */
    @Volatile
    private var thrown: Throwable? = null

    /** By the names of their calls. They don't run where handlers do, which may block all threads. */
    val functions: Map<String, Callable> =
        mapOf(
            WaistMethods.OPEN to Callable("the lifespan", OWNER) {
                // A cancelled opening may have left a value open.
                close()
                val opened = opening()
                // The listener or connection may be closed by now, and the next one open.
                if (currentCoroutineContext().isActive) current.set(opened) else dispose(opened)
                Answer(Shape.RESULT, NOTHING) { if (current.compareAndSet(opened, null)) dispose(opened) }
            },
            WaistMethods.CLOSE to Callable("the lifespan", OWNER) {
                close()
                Answer(Shape.RESULT, NOTHING)
            },
        )

    /** The error itself, or what the program has thrown and led to it: the core only has the message. */
    fun causeOf(error: TrunklineException): Throwable {
        val cause = thrown?.takeIf { messageOf(it) in error.message.orEmpty() } ?: return error
        // Otherwise, a timeout in the lifespan would cancel the coroutine that opens it.
        return if (cause is CancellationException) error.apply { addSuppressed(cause) } else cause
    }

    private suspend fun opening(): Any? = try {
        thrown = null
        open()
    } catch (cancelled: CallCancelled) {
        throw cancelled
    } catch (error: Throwable) {
        if (currentCoroutineContext().isActive) thrown = error
        throw ToolException(messageOf(error), error)
    }

    private fun close() = dispose(current.getAndSet(null))

    private fun dispose(opened: Any?) = callBack("closing the lifespan") { (opened as? AutoCloseable)?.close() }
}

private val OWNER = Owner(callbacks, null, null)
