package dev.trunkline

import dev.trunkline.internal.PortException
import kotlinx.coroutines.CancellationException
import kotlinx.serialization.json.JsonObject
import dev.trunkline.internal.InternalException as Panic

/** Thrown by a tool handler to give the caller a result with `isError` and this message. */
public class ToolException(message: String, cause: Throwable? = null) : RuntimeException(message, cause)

/** Thrown by a [Store]. Any other exception of a store means that it is unavailable. */
public class StoreException(
    message: String,
    /** The reason. */
    public val reason: Reason = Reason.UNAVAILABLE,
    cause: Throwable? = null,
) : RuntimeException(message, cause) {
    /** Why a store has failed. */
    public enum class Reason {
        /** The store cannot be reached. */
        UNAVAILABLE,

        /** The store has no space. */
        FULL,

        /** The store contains unreadable data. */
        CORRUPT,
    }
}

/**
 * Ends a handler whose request to its client is answered in another run of the handler. A cancellation, so that code
 * that catches errors of the library lets it pass.
 */
internal class Suspended(message: String) : CancellationException(message)

/** The cancellation of a call by its caller, or with its connection. */
internal class CallCancelled(reason: String) :
    CancellationException(if (reason.isEmpty()) "the call was cancelled" else "the call was cancelled: $reason")

/** The error for an error object of the core. */
internal fun exceptionOf(text: String): RuntimeException {
    val error = parse(text) as? JsonObject ?: return InternalException(text)
    return if (error.string("kind") == SUSPENDED) Suspended(error.string("message").orEmpty()) else Exceptions.of(error)
}

/** Runs a function of the native library, and throws its errors as those of this package. */
internal inline fun <T> native(function: () -> T): T = try {
    function()
} catch (error: PortException.Failed) {
    throw exceptionOf(error.json)
} catch (panic: Panic) {
    throw InternalException(panic.message ?: "a bug in the native library", cause = panic)
}

private const val SUSPENDED = "suspended"
