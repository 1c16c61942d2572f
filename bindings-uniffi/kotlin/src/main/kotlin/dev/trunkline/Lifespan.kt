package dev.trunkline

import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.isActive

/** What a server opens before its first call and closes after its last. The core calls for both. */
internal class Lifespan(private val open: suspend () -> Any?) {
    /** What was opened. */
    @Volatile
    var value: Any? = null
        private set

    /** What [open] has thrown last. */
    @Volatile
    private var thrown: Throwable? = null

    /** By the names of their calls. They don't run where handlers do, which may block all threads. */
    val functions: Map<String, Callable> =
        mapOf(
            WaistMethods.OPEN to Callable("the lifespan", OWNER) {
                value = opening()
                // Nobody waits for it any more.
                if (!currentCoroutineContext().isActive) close()
                Answer(Shape.RESULT, NOTHING)
            },
            WaistMethods.CLOSE to Callable("the lifespan", OWNER) {
                close()
                Answer(Shape.RESULT, NOTHING)
            },
        )

    /** The error itself, or what the program has thrown and led to it: the core only has the message. */
    fun causeOf(error: TrunklineException): Throwable = thrown?.takeIf { messageOf(it) in error.message.orEmpty() } ?: error

    private suspend fun opening(): Any? = try {
        thrown = null
        open()
    } catch (cancelled: CallCancelled) {
        throw cancelled
    } catch (error: Throwable) {
        thrown = error
        throw ToolException(messageOf(error), error)
    }

    private fun close() {
        val closing = value as? AutoCloseable
        value = null
        callBack("closing the lifespan") { closing?.close() }
    }

    private companion object {
        val OWNER = Owner(callbacks, null, null)
    }
}
