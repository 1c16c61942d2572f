package dev.trunkline

import kotlinx.coroutines.CancellationException
import kotlinx.serialization.json.JsonObject

/**
 * Checks that a store fulfills its contract, which takes a few seconds.
 *
 * @return the violations found.
 */
public suspend fun checkStore(store: Store): List<String> {
    val server = Server(Implementation("check", "1"), store = store)
    return try {
        server.checkStore()
    } finally {
        server.close()
    }
}

/** The functions of a store, by the names of their calls. */
internal fun callables(store: Map<String, suspend (JsonObject) -> JsonObject>, owner: Owner): Map<String, Callable> =
    store.mapValues { (name, function) ->
        Callable(name, owner) {
            try {
                Answer(Shape.RESULT, function(it as JsonObject))
            } catch (error: Exception) {
                if (error is CancellationException || error is StoreException) throw error
                throw StoreException(error.toString(), cause = error)
            }
        }
    }
