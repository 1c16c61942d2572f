package dev.trunkline

import kotlinx.serialization.KSerializer
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.elementNames
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/**
 * Adds the defaults of a class to its schema. A descriptor does not have them, so that the class is read from samples of
 * its required properties, and written. What differs between samples, such as the current time, is no default.
 */
internal fun JsonObject.withDefaultsOf(serializer: KSerializer<*>): JsonObject {
    val properties = this["properties"] as? JsonObject ?: return this
    if (serializer.descriptor.kind != StructureKind.CLASS) return this
    val (one, other) = SAMPLES.indices.map { runCatching { writtenSample(serializer, it) }.getOrNull() ?: return this }
    val defaults = one.filter { (name, value) -> value != JsonNull && value == other[name] && isOptional(serializer.descriptor, name) }
    if (defaults.isEmpty()) return this
    val more = properties.mapValues { (name, schema) -> if (name in defaults) withDefault(schema, defaults[name]) else schema }
    return JsonObject(this + ("properties" to JsonObject(more)))
}

private fun isOptional(descriptor: SerialDescriptor, name: String) =
    descriptor.getElementIndex(name).let { it >= 0 && descriptor.isElementOptional(it) }

/** One from an annotation stays. */
private fun withDefault(schema: JsonElement, value: JsonElement?) =
    if (schema !is JsonObject || "default" in schema) schema else schema.with("default" to value)

private fun <T> writtenSample(serializer: KSerializer<T>, number: Int): JsonObject? {
    val value = values.decodeFromJsonElement(serializer, sample(serializer.descriptor, number, 0) ?: return null)
    return values.encodeToJsonElement(serializer, value) as? JsonObject
}

/** A value of a type; null if there is none that all types of its kind have. */
private fun sample(descriptor: SerialDescriptor, number: Int, depth: Int): JsonElement? = when {
    descriptor.isNullable -> JsonNull

    depth == MAX_NESTING -> null

    descriptor.isInline -> sample(descriptor.getElementDescriptor(0), number, depth + 1)

    else ->
        when (descriptor.kind) {
            PrimitiveKind.BOOLEAN -> JsonPrimitive(number == 1)
            PrimitiveKind.CHAR, PrimitiveKind.STRING -> JsonPrimitive(CLASS_SAMPLES[descriptor.serialName] ?: SAMPLES[number])
            is PrimitiveKind -> JsonPrimitive(number)
            SerialKind.ENUM -> JsonPrimitive(descriptor.elementNames.toList().let { it[number % it.size] })
            StructureKind.LIST -> JsonArray(emptyList())
            StructureKind.MAP -> NOTHING
            StructureKind.CLASS, StructureKind.OBJECT -> sampleOfClass(descriptor, number, depth)
            else -> null
        }
}

private fun sampleOfClass(descriptor: SerialDescriptor, number: Int, depth: Int): JsonObject? {
    val required = (0 until descriptor.elementsCount).filterNot(descriptor::isElementOptional)
    return JsonObject(
        required.associate {
            descriptor.getElementName(it) to (sample(descriptor.getElementDescriptor(it), number, depth + 1) ?: return null)
        },
    )
}

private val SAMPLES = listOf("a", "b")

/** Strings that classes read, by their serial names. */
private val CLASS_SAMPLES =
    mapOf(
        "kotlin.time.Duration" to "PT1S",
        "kotlin.time.Instant" to "2026-01-31T09:30:00Z",
        "kotlinx.datetime.Instant" to "2026-01-31T09:30:00Z",
        "kotlinx.datetime.LocalDate" to "2026-01-31",
        "kotlin.uuid.Uuid" to "123e4567-e89b-12d3-a456-426614174000",
    )

private const val MAX_NESTING = 64
