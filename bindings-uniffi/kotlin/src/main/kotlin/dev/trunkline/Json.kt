package dev.trunkline

import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.doubleOrNull
import kotlinx.serialization.json.encodeToJsonElement
import kotlin.math.abs
import kotlin.math.truncate

/** Messages and models: unknown members are those of newer revisions, and absent ones are not written. */
internal val json: Json =
    Json {
        ignoreUnknownKeys = true
        explicitNulls = false
        // Null for a member with a default is the default.
        coerceInputValues = true
    }

/** Values of handlers: what a schema describes is written, even if it is the default. */
internal val values: Json =
    Json {
        encodeDefaults = true
        ignoreUnknownKeys = true
    }

/** A JSON object of names and values: strings, numbers, booleans, null, lists, maps, and serializable classes. */
public fun jsonObjectOf(vararg members: Pair<String, Any?>): JsonObject = jsonOf(members.toMap()) as JsonObject

internal val NOTHING: JsonObject = JsonObject(emptyMap())

/** A message or a part of one: the members that are not null, as JSON. */
internal fun objectOf(vararg members: Pair<String, Any?>): JsonObject = JsonObject(
    buildMap {
        // The core refuses a number that has no form in JSON.
        for ((name, value) in members) if (value != null) put(name, if (value is Number) JsonPrimitive(value) else jsonOf(value, json))
    },
)

/** The object with more members, of which those that are null are left out. */
internal fun JsonObject.with(vararg members: Pair<String, Any?>): JsonObject = JsonObject(this + objectOf(*members))

/** Options, or another class of the core, as an object. */
internal inline fun <reified T> encoded(value: T): JsonObject = json.encodeToJsonElement(value) as JsonObject

internal inline fun <reified T> decoded(element: JsonElement): T = received { json.decodeFromJsonElement(element) }

/** Reads what a peer has sent. */
internal inline fun <T> received(problem: String = "a message of the peer is not valid", read: () -> T): T = try {
    read()
} catch (error: IllegalArgumentException) {
    throw TransportException("$problem: ${error.message}", cause = error)
}

/** Reads a value of a handler. A peer may write an integer with a fraction, such as `5.0`, as its schema allows. */
internal fun <T> valueOf(serializer: KSerializer<T>, element: JsonElement): T = try {
    values.decodeFromJsonElement(serializer, element)
} catch (_: SerializationException) {
    values.decodeFromJsonElement(serializer, wholeNumbers(element))
}

private fun wholeNumbers(element: JsonElement): JsonElement = when (element) {
    is JsonObject -> JsonObject(element.mapValues { wholeNumbers(it.value) })

    is JsonArray -> JsonArray(element.map(::wholeNumbers))

    is JsonPrimitive -> {
        val number = element.doubleOrNull.takeIf { !element.isString }
        // A larger one may be rounded.
        if (number != null && number == truncate(number) && abs(number) < EXACT_INTEGER_LIMIT) JsonPrimitive(number.toLong()) else element
    }
}

/** Doubles below it are exact if they are whole. */
private const val EXACT_INTEGER_LIMIT = 9_007_199_254_740_992.0

internal fun JsonObject.string(name: String): String? = (this[name] as? JsonPrimitive)?.contentOrNull

/** The value of a JSON text, or null if it is none. */
internal fun parse(text: String): JsonElement? = runCatching { json.parseToJsonElement(text) }.getOrNull()

/** A value that the program has passed, as JSON; [what] names it. */
internal fun <T> written(serializer: KSerializer<T>, value: T, what: String, format: Json = values): JsonElement = try {
    format.encodeToJsonElement(serializer, value)
} catch (error: SerializationException) {
    // Of a value that checks itself, such as a time.
    (error.cause as? InvalidArgumentException)?.let { throw it }
    throw InvalidArgumentException("$what cannot be written as JSON: ${error.message}", cause = error)
}
