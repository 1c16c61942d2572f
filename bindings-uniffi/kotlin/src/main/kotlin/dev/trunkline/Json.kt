package dev.trunkline

import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull

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

/** An object of the members that are not null. */
internal fun objectOf(vararg members: Pair<String, JsonElement?>): JsonObject =
    JsonObject(buildMap { for ((name, value) in members) if (value != null) put(name, value) })

internal fun JsonObject.string(name: String): String? = (this[name] as? JsonPrimitive)?.contentOrNull

/** The value of a JSON text, or null if it is none. */
internal fun parse(text: String): JsonElement? = try {
    json.parseToJsonElement(text)
} catch (_: SerializationException) {
    null
}

/** A value that the program has passed, as JSON; [what] names it. */
internal fun <T> written(serializer: KSerializer<T>, value: T, what: String, format: Json = values): JsonElement = try {
    format.encodeToJsonElement(serializer, value)
} catch (error: SerializationException) {
    throw InvalidArgumentException("$what cannot be written as JSON: ${error.message}", cause = error)
}
