package dev.trunkline

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.InternalSerializationApi
import kotlinx.serialization.SerialInfo
import kotlinx.serialization.descriptors.PolymorphicKind
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.capturedKClass
import kotlinx.serialization.descriptors.elementNames
import kotlinx.serialization.descriptors.nullable
import kotlinx.serialization.json.JsonClassDiscriminator
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.serializerOrNull

/** Describes a class or one of its properties to the model, in the schema of a tool. */
@OptIn(ExperimentalSerializationApi::class)
@SerialInfo
@Target(AnnotationTarget.CLASS, AnnotationTarget.PROPERTY)
public annotation class Description(val value: String)

/**
 * Keywords of JSON Schema for a class or one of its properties, such as `{"minimum": -90, "default": 0}`, in addition to
 * those of its type, or instead of them. In the schema of a tool, the core checks them.
 */
@OptIn(ExperimentalSerializationApi::class)
@SerialInfo
@Target(AnnotationTarget.CLASS, AnnotationTarget.PROPERTY)
public annotation class SchemaKeywords(val json: String)

/** The JSON Schema of a serializable class. */
internal fun schemaOf(descriptor: SerialDescriptor): JsonObject = SchemaWriter(descriptor).whole()

/** The schema of arguments. Classes refuse other members: decoding would ignore one that is misspelled. */
internal fun argumentsSchemaOf(descriptor: SerialDescriptor): JsonObject = SchemaWriter(descriptor, isClosed = true).whole()

/** The schema of a result, which must be of an object: other values are its member `result`. */
internal class OutputSchema(descriptor: SerialDescriptor) {
    private val own = schemaOf(descriptor)

    /** True if the value is not an object. */
    val isWrapped: Boolean = own.string("type") != "object"

    val schema: JsonObject =
        if (!isWrapped) own else objectSchema(mapOf("result" to JsonObject(own - DEFINITIONS)), listOf("result"), own[DEFINITIONS])
}

@OptIn(ExperimentalSerializationApi::class)
private class SchemaWriter(private val root: SerialDescriptor, private val isClosed: Boolean = false) {
    private val definitions = mutableMapOf<String, JsonElement>()
    private val open = mutableListOf<Named>()

    /** Classes that contain themselves, with the names of their definitions. */
    private val recursive = mutableMapOf<Named, String>()

    fun whole(): JsonObject = of(root).with(DEFINITIONS to definitions.ifEmpty { null })

    /**
     * A class with its type arguments, and the name and value of its tag if it is a subclass of a sealed one. As its
     * nullable form, because old versions of kotlinx.serialization don't give the other one.
     */
    private data class Named(val nullable: SerialDescriptor, val tag: Pair<String, String>?)

    /** The name of the class, also if this is its nullable form. */
    private val SerialDescriptor.plainName: String get() = if (isNullable) serialName.removeSuffix("?") else serialName

    private fun of(
        descriptor: SerialDescriptor,
        annotations: List<Annotation> = emptyList(),
        tag: Pair<String, String>? = null,
    ): JsonObject {
        val own = known(descriptor.plainName) ?: kind(descriptor, tag)
        val schema = JsonObject(own + descriptor.annotations.keywords() + annotations.keywords())
        val description = annotations.description() ?: descriptor.annotations.description()
        return (if (descriptor.isNullable) nullable(schema) else schema).with("description" to description)
    }

    /** An integer of 64 bits has no bounds, which interfaces of models refuse in a schema. Decoding checks them. */
    private fun kind(descriptor: SerialDescriptor, tag: Pair<String, String>?): JsonObject = when (descriptor.kind) {
        PrimitiveKind.BOOLEAN -> type("boolean")
        PrimitiveKind.BYTE -> integer(Byte.MIN_VALUE, Byte.MAX_VALUE)
        PrimitiveKind.SHORT -> integer(Short.MIN_VALUE, Short.MAX_VALUE)
        PrimitiveKind.INT -> integer(Int.MIN_VALUE, Int.MAX_VALUE)
        PrimitiveKind.LONG -> type("integer")
        PrimitiveKind.FLOAT, PrimitiveKind.DOUBLE -> type("number")
        PrimitiveKind.CHAR, PrimitiveKind.STRING -> type("string")
        SerialKind.ENUM -> type("string").with("enum" to descriptor.elementNames.toList())
        StructureKind.LIST -> type("array").with("items" to of(descriptor.getElementDescriptor(0)))
        StructureKind.MAP -> map(descriptor)
        StructureKind.CLASS, StructureKind.OBJECT -> structure(descriptor, tag)
        PolymorphicKind.SEALED -> sealed(descriptor)
        PolymorphicKind.OPEN -> open(descriptor)
        SerialKind.CONTEXTUAL -> contextual(descriptor)
    }

    /** A class that is not sealed, or a serializer of the program for any value. */
    private fun open(descriptor: SerialDescriptor): JsonObject {
        val type = descriptor.capturedKClass ?: return NOTHING
        throw InvalidArgumentException("${type.qualifiedName} has subclasses that are not known: make it sealed")
    }

    private fun map(descriptor: SerialDescriptor): JsonObject {
        val given = descriptor.getElementDescriptor(0)
        val key = generateSequence(given) { if (it.isInline) it.getElementDescriptor(0) else null }.last()
        if (key.kind is StructureKind || key.kind is PolymorphicKind) {
            throw InvalidArgumentException("${key.plainName} is no key of a map in JSON: use a string, a number or an enum")
        }
        return type("object").with("additionalProperties" to of(descriptor.getElementDescriptor(1)))
    }

    private fun structure(descriptor: SerialDescriptor, tag: Pair<String, String>?): JsonObject {
        // An inline class is written as its value.
        if (descriptor.isInline) return of(descriptor.getElementDescriptor(0))
        val named = Named(descriptor.nullable, tag)
        // A pair never contains itself, but its descriptor may equal that of a pair inside.
        val isPair = descriptor.serialName.startsWith("kotlin.")
        if (!isPair && named in open) return reference(recursive.getOrPut(named) { unused(descriptor.plainName) })
        open += named
        val schema = members(descriptor, tag)
        open -= named
        val name = recursive[named] ?: return schema
        definitions[name] = schema
        return if (open.isEmpty()) schema else reference(name)
    }

    /** The schema of a class whose descriptor does not have it. */
    private fun known(name: String): JsonObject? = when (name) {
        "kotlinx.serialization.json.JsonElement" -> NOTHING
        "kotlinx.serialization.json.JsonPrimitive" -> objectOf("type" to listOf("string", "number", "boolean", "null"))
        "kotlin.UByte" -> integer(0, UByte.MAX_VALUE.toLong())
        "kotlin.UShort" -> integer(0, UShort.MAX_VALUE.toLong())
        "kotlin.UInt" -> integer(0, UInt.MAX_VALUE.toLong())
        "kotlin.ULong" -> type("integer").with("minimum" to 0)
        "kotlin.time.Instant", "kotlinx.datetime.Instant" -> type("string").with("format" to "date-time")
        "kotlinx.datetime.LocalDate" -> type("string").with("format" to "date")
        "kotlin.uuid.Uuid" -> type("string").with("format" to "uuid")
        else -> null
    }

    private fun members(descriptor: SerialDescriptor, tag: Pair<String, String>?): JsonObject {
        val elements = 0 until descriptor.elementsCount
        if (tag != null && !isClosed && tag.first in descriptor.elementNames) {
            val name = "${descriptor.serialName} has a property named ${tag.first}"
            throw InvalidArgumentException("$name, which is the member with the name of the class")
        }
        val tagged = if (tag == null) NOTHING else objectOf(tag.first to objectOf("const" to tag.second))
        val properties =
            elements.associate { index ->
                descriptor.getElementName(index) to of(descriptor.getElementDescriptor(index), descriptor.getElementAnnotations(index))
            }
        val required = elements.filterNot(descriptor::isElementOptional).map(descriptor::getElementName)
        return objectSchema(tagged + properties, tagged.keys + required).with("additionalProperties" to false.takeIf { isClosed })
    }

    /** One of the subclasses, each with the name of its class in `type`, unless an annotation names another member. */
    private fun sealed(descriptor: SerialDescriptor): JsonObject {
        // The serializer of the program chooses by the content.
        if (descriptor.elementsCount == 0) return NOTHING
        val tag = descriptor.annotations.filterIsInstance<JsonClassDiscriminator>().firstOrNull()?.discriminator ?: "type"
        val subclasses = descriptor.getElementDescriptor(1)
        val schemas =
            (0 until subclasses.elementsCount).map { index ->
                of(subclasses.getElementDescriptor(index), tag = tag to subclasses.getElementName(index))
            }
        return type("object").with("oneOf" to schemas)
    }

    /** With `@Contextual`, values have the serializer of their class: there is no module with another one. */
    @OptIn(InternalSerializationApi::class)
    private fun contextual(descriptor: SerialDescriptor): JsonObject {
        val type = descriptor.capturedKClass ?: return NOTHING
        val serializer = type.serializerOrNull()
        if (serializer == null) throw InvalidArgumentException("$type has no serializer: name one with @Serializable(with = …)")
        return of(serializer.descriptor)
    }

    private fun nullable(schema: JsonObject) = objectOf("anyOf" to listOf(schema, type("null")))

    private fun reference(name: String) = objectOf("\$ref" to "#/$DEFINITIONS/$name")

    private fun unused(serialName: String): String {
        val name = serialName.substringAfterLast('.')
        return generateSequence(1) { it + 1 }.map { if (it == 1) name else "$name$it" }.first { it !in recursive.values }
    }

    private fun List<Annotation>.description(): String? = filterIsInstance<Description>().firstOrNull()?.value

    private fun List<Annotation>.keywords(): JsonObject {
        val text = filterIsInstance<SchemaKeywords>().firstOrNull()?.json ?: return NOTHING
        val keywords = runCatching { json.parseToJsonElement(text) }.getOrNull()
        return keywords as? JsonObject ?: throw InvalidArgumentException("@SchemaKeywords needs a JSON object, and has $text")
    }
}

private const val DEFINITIONS = "\$defs"

private fun type(name: String): JsonObject = objectOf("type" to name)

private fun integer(minimum: Number, maximum: Number): JsonObject = type("integer").with("minimum" to minimum, "maximum" to maximum)

private fun objectSchema(properties: Map<String, JsonElement>, required: Collection<String>, definitions: JsonElement? = null): JsonObject =
    objectOf(
        "type" to "object",
        "properties" to properties,
        "required" to required.ifEmpty { null },
        DEFINITIONS to definitions.takeIf { it !is JsonNull },
    )
