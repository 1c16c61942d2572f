package dev.trunkline

import kotlinx.serialization.json.JsonObject

/** Arguments that the schema allows and the handler's class does not. */
internal class InvalidArguments(cause: Exception) : RuntimeException(cause.message, cause)

/** A failure of a handler of another language of the JVM, as a message for the core. */
internal class Failed(val failure: JsonObject, cause: Throwable) : RuntimeException(cause.message, cause)

/** The message of what a function of the program has thrown, for the program itself. */
internal fun messageOf(error: Throwable): String = error.message ?: error.toString()

/** The message for the core about what a handler has thrown. */
internal fun failureOf(thrown: Throwable): JsonObject = when (thrown) {
    is Failed -> thrown.failure

    is ToolException -> failure("tool", thrown.message)

    is StoreException -> failure("protocol", thrown.message, "data" to objectOf("error" to thrown.reason.name.lowercase()))

    is ProtocolException -> failure("protocol", thrown.message, "code" to thrown.code, "data" to thrown.data)

    is TokenException ->
        if (thrown.scopes == null) {
            invalid(thrown)
        } else {
            failure("protocol", thrown.message, "data" to objectOf("error" to "insufficient_scope", "scopes" to thrown.scopes))
        }

    is InvalidArguments -> invalid(thrown)

    else -> failure("internal", describe(thrown))
}

private fun invalid(thrown: Throwable) = failure("invalid", thrown.message, "path" to "")

internal fun failure(kind: String, message: String?, vararg more: Pair<String, Any?>): JsonObject =
    objectOf("kind" to kind, "message" to (message ?: kind), *more)
