package dev.trunkline.jvm

import dev.trunkline.json
import dev.trunkline.jsonOf
import dev.trunkline.received
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull

/** JSON as maps, lists, strings, numbers, booleans and null. */
internal object Values {
    /** @throws IllegalArgumentException if the text is not JSON. */
    @JvmStatic
    public fun parse(text: String): Any? = valueOf(json.parseToJsonElement(text))

    /** The text of a value. */
    @JvmStatic
    public fun write(value: Any?): String = jsonOf(value).toString()
}

/** Converts JSON from a peer. */
internal fun plain(element: JsonElement): Any? = received { valueOf(element) }

private fun valueOf(element: JsonElement): Any? = when (element) {
    JsonNull -> null
    is JsonObject -> element.mapValuesTo(LinkedHashMap(element.size * 2)) { valueOf(it.value) }
    is JsonArray -> element.mapTo(ArrayList(element.size), ::valueOf)
    is JsonPrimitive -> if (element.isString) element.content else element.booleanOrNull ?: numberOf(element)
}

/** An integer as a [Long] if it fits, and any other number as a [Double] if that is exact. */
private fun numberOf(element: JsonPrimitive): Number {
    val text = element.content
    // The time to read digits grows with the square of their number.
    require(text.length <= MAX_CHARACTERS) { "a number has more than $MAX_CHARACTERS characters" }
    if (text.none { it in ".eE" }) return text.toLongOrNull() ?: text.toBigInteger()
    val (number, exact) = text.toDouble() to text.toBigDecimal()
    return if (number.isFinite() && number.toBigDecimal().compareTo(exact) == 0) number else exact
}

private const val MAX_CHARACTERS = 1000

internal fun objectFrom(value: Map<String, Any?>): JsonObject = jsonOf(value) as JsonObject

@Suppress("UNCHECKED_CAST")
internal fun members(element: JsonElement): Map<String, Any?> = plain(element) as Map<String, Any?>
