package dev.trunkline

import kotlinx.serialization.KSerializer
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.SerializationStrategy
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.builtins.serializer
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonDecoder
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.JsonTransformingSerializer
import kotlinx.serialization.json.JsonUnquotedLiteral
import kotlinx.serialization.json.doubleOrNull
import kotlin.math.truncate
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds

/** A block of content of a type that this version does not know, or one that does not match its type. */
@Serializable(with = OtherContentSerializer::class)
public data class OtherContent(
    /** The whole block. */
    val json: JsonObject,
) : ContentBlock,
    SamplingBlock {
    override val type: String get() = json.string("type").orEmpty()
}

/** A descriptor with a name and the form of another one. */
private fun descriptorOf(name: String, form: SerialDescriptor): SerialDescriptor =
    (form.kind as? PrimitiveKind)?.let { PrimitiveSerialDescriptor(name, it) } ?: SerialDescriptor(name, form)

/** Writes values of a class as those of another. */
internal abstract class ConvertingSerializer<T, W>(
    name: String,
    private val written: KSerializer<W>,
    private val write: (T) -> W,
    private val read: (W) -> T,
) : KSerializer<T> {
    override val descriptor: SerialDescriptor = descriptorOf("dev.trunkline.$name", written.descriptor)

    override fun serialize(encoder: Encoder, value: T): Unit = encoder.encodeSerializableValue(written, write(value))

    override fun deserialize(decoder: Decoder): T = read(decoder.decodeSerializableValue(written))
}

internal object OtherContentSerializer :
    ConvertingSerializer<OtherContent, JsonObject>("OtherContent", JsonObject.serializer(), OtherContent::json, ::OtherContent)

/** Reads and writes one of several objects. */
internal abstract class UnionSerializer<T : Any>(name: String) : KSerializer<T> {
    override val descriptor: SerialDescriptor = SerialDescriptor("dev.trunkline.$name", JsonObject.serializer().descriptor)

    protected abstract fun serializerOf(value: T): KSerializer<out T>

    protected abstract fun serializerOf(json: JsonObject): KSerializer<out T>

    /** The value for an object that does not match its type. */
    protected open fun other(json: JsonObject): T? = null

    override fun serialize(encoder: Encoder, value: T) {
        @Suppress("UNCHECKED_CAST")
        encoder.encodeSerializableValue(serializerOf(value) as SerializationStrategy<T>, value)
    }

    override fun deserialize(decoder: Decoder): T {
        val input = decoder as? JsonDecoder ?: throw SerializationException("${descriptor.serialName} can only be read from JSON")
        val json = input.decodeJsonElement() as? JsonObject ?: throw SerializationException("not an object")
        return try {
            // Some peers write null for the members of other variants.
            val present = JsonObject(json.filterValues { it !is JsonNull })
            input.json.decodeFromJsonElement(serializerOf(present), json)
        } catch (error: SerializationException) {
            other(json) ?: throw error
        }
    }
}

/** A list, of which one value alone is written without an array. */
internal class OneOrListSerializer<T>(item: KSerializer<T>) : JsonTransformingSerializer<List<T>>(ListSerializer(item)) {
    override fun transformDeserialize(element: JsonElement): JsonElement = element as? JsonArray ?: JsonArray(listOf(element))

    override fun transformSerialize(element: JsonElement): JsonElement = (element as JsonArray).singleOrNull() ?: element
}

/** A string, or `false` instead of an empty one. */
internal object OrFalseSerializer : JsonTransformingSerializer<String>(String.serializer()) {
    override fun transformDeserialize(element: JsonElement): JsonElement =
        if (element == JsonPrimitive(false)) JsonPrimitive("") else element

    override fun transformSerialize(element: JsonElement): JsonElement = if (element == JsonPrimitive("")) JsonPrimitive(false) else element
}

/** Reads numbers of peers: one that is beyond the type is the nearest that it holds. */
internal abstract class NearestSerializer<T : Any>(private val exact: KSerializer<T>, private val nearest: (String) -> T?) :
    KSerializer<T> by exact {
    override fun deserialize(decoder: Decoder): T {
        if (decoder !is JsonDecoder) return exact.deserialize(decoder)
        val element = decoder.decodeJsonElement()
        val number = (element as? JsonPrimitive)?.takeUnless { it.isString }?.content?.let(nearest)
        return number ?: decoder.json.decodeFromJsonElement(exact, element)
    }
}

internal object IntegerSerializer :
    NearestSerializer<Long>(
        Long.serializer(),
        { text -> text.toLongOrNull() ?: text.toDoubleOrNull()?.takeIf { it == truncate(it) }?.toLong() },
    )

internal object NumberSerializer :
    NearestSerializer<Double>(Double.serializer(), { it.toDoubleOrNull()?.coerceIn(-Double.MAX_VALUE, Double.MAX_VALUE) })

/** Writes all digits of numbers: by default, those beyond 64 bits are rounded. */
internal abstract class DigitsSerializer<T : JsonElement>(rounding: KSerializer<T>) : KSerializer<T> by rounding {
    override fun serialize(encoder: Encoder, value: T): Unit = encoder.encodeSerializableValue(JsonElement.serializer(), exact(value))

    private fun exact(element: JsonElement): JsonElement = when (element) {
        is JsonObject -> JsonObject(element.mapValues { exact(it.value) })
        is JsonArray -> JsonArray(element.map(::exact))
        is JsonPrimitive -> if (isRounded(element)) JsonUnquotedLiteral(element.content) else element
    }

    // Its `longOrNull` is 1 for 2^64 + 1.
    private fun isRounded(element: JsonPrimitive) =
        !element.isString && element.doubleOrNull != null && element.content.toLongOrNull() == null
}

internal object ElementSerializer : DigitsSerializer<JsonElement>(JsonElement.serializer())

internal object ObjectSerializer : DigitsSerializer<JsonObject>(JsonObject.serializer())

/** A time in whole milliseconds. */
internal object MillisecondsSerializer :
    ConvertingSerializer<Duration, Long>("Milliseconds", IntegerSerializer, Duration::wholeMilliseconds, { it.milliseconds })

/** An error of the core. */
internal object ExceptionSerializer :
    ConvertingSerializer<TrunklineException, JsonObject>(
        "TrunklineException",
        JsonObject.serializer(),
        { objectOf("kind" to it.kind, "message" to it.message) },
        Exceptions::of,
    )

/** One of a few strings of the protocol. Peers of newer revisions may send others. */
public abstract class OpenEnum internal constructor(
    /** The string. */
    public val value: String,
) {
    override fun equals(other: Any?): Boolean = other is OpenEnum && other.javaClass == javaClass && other.value == value

    override fun hashCode(): Int = value.hashCode()

    override fun toString(): String = value
}

internal abstract class OpenEnumSerializer<T : OpenEnum>(name: String, make: (String) -> T) :
    ConvertingSerializer<T, String>(name, String.serializer(), OpenEnum::value, make)
