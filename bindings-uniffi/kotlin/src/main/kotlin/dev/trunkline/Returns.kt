package dev.trunkline

import kotlinx.serialization.InternalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.serializerOrNull

/** The answer of a call, for the core, and what to do if the call is over by then. */
internal class Answer(val shape: UByte, val body: ByteArray, val ifLate: () -> Unit = {}) {
    constructor(shape: UByte, body: String) : this(shape, utf8(body))

    constructor(shape: UByte, body: JsonElement, ifLate: () -> Unit = {}) : this(shape, utf8(body.toString()), ifLate)
}

/** A text for the core, which must not have an unpaired surrogate: it becomes U+FFFD, for which the JVM writes `?`. */
private fun utf8(text: String): ByteArray =
    (if (text.any(Char::isSurrogate)) text.replace(UNPAIRED, "\uFFFD") else text).encodeToByteArray()

/** Pairs are one code point. */
private val UNPAIRED = Regex("[\\ud800-\\udfff]")

/**
 * Returned by a handler that needs input from its client without waiting for it. Once the responses arrive, the handler
 * is called again, with [Context.inputResponses] and [Context.state].
 */
public class InputRequired(
    /** Requests by the keys of their responses, from [InputRequests]. */
    public val requests: Map<String, InputRequest>,
    /** Any JSON value, which the next run gets back. */
    public val state: JsonElement? = null,
)

/**
 * The answer that a returned value stands for: a string is text; content blocks, resource contents and prompt messages
 * are parts of a result; results are sent as they are; maps and serializable classes are JSON objects; anything else
 * is a JSON value.
 */
internal fun answerOf(value: Any?): Answer = when (value) {
    is String -> Answer(Shape.TEXT, value)
    is ByteArray -> throw InvalidArgumentException("only resources return bytes: use image or audio")
    is InputRequired -> Answer(Shape.INPUT, objectOf("inputRequests" to value.requests, "state" to value.state))
    is CallToolResult, is ReadResourceResult, is GetPromptResult -> Answer(Shape.RESULT, jsonOf(value, json))
    is List<*> -> partsOf(value)?.let { Answer(Shape.CONTENT, it) } ?: Answer(Shape.VALUE, jsonOf(value))
    else -> partOf(value)?.let { Answer(Shape.CONTENT, it) } ?: answerOf(jsonOf(value))
}

/** The same of a resource, whose bytes are a blob. */
internal fun contentsOf(value: Any?): Answer =
    if (value is ByteArray) Answer(Shape.CONTENT, objectOf("blob" to base64(value))) else answerOf(value)

/** The same of a prompt: each string of a list is a message. */
internal fun messagesOf(value: Any?): Answer =
    if (value is List<*> && value.all { it is String }) Answer(Shape.CONTENT, jsonOf(value)) else answerOf(value)

internal fun answerOf(value: JsonElement): Answer = Answer(if (value is JsonObject) Shape.OBJECT else Shape.VALUE, value)

/** The parts of a list of parts, and of strings among them; null if it is data. */
private fun partsOf(list: List<*>): JsonArray? {
    val parts = list.map(::partOf)
    if (parts.all { it == null } || list.indices.any { parts[it] == null && list[it] !is String }) return null
    return JsonArray(list.indices.map { parts[it] ?: encoded<ContentBlock>(text(list[it] as String)) })
}

private fun partOf(value: Any?): JsonElement? = when (value) {
    is ContentBlock -> encoded<ContentBlock>(value)
    is ResourceContents -> encoded<ResourceContents>(value)
    is PromptMessage -> encoded(value)
    else -> null
}

/** Any value as JSON, by the serializer of its class. */
internal fun jsonOf(value: Any?, format: Json = values): JsonElement = when (value) {
    null, Unit -> JsonNull
    is JsonElement -> value
    is String -> JsonPrimitive(value)
    is Boolean -> JsonPrimitive(value)
    is Number -> numberOf(value)
    is Map<*, *> -> JsonObject(value.entries.associate { (name, member) -> name.toString() to part(member, format) { ".$name" } })
    is Collection<*> -> JsonArray(value.mapIndexed { index, item -> part(item, format) { "[$index]" } })
    else -> serialized(value, format)
}

@OptIn(InternalSerializationApi::class)
private fun serialized(value: Any, format: Json): JsonElement {
    val serializer = value::class.serializerOrNull()
    requireNotNull(serializer) { "a ${value.javaClass.name} has no form in JSON: it is not @Serializable, or has type parameters" }
    @Suppress("UNCHECKED_CAST")
    return format.encodeToJsonElement(serializer as KSerializer<Any>, value)
}

private fun numberOf(value: Number): JsonPrimitive {
    require((value !is Double && value !is Float) || value.toDouble().isFinite()) { "$value has no form in JSON" }
    return JsonPrimitive(value)
}

/** A part of a value. Errors begin with its path from the whole, `$`. */
private inline fun part(value: Any?, format: Json, step: () -> String): JsonElement = try {
    jsonOf(value, format)
} catch (error: IllegalArgumentException) {
    val message = error.message.orEmpty()
    throw IllegalArgumentException("\$" + step() + if (message.startsWith("\$")) message.drop(1) else ": $message", error)
}
