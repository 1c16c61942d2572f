package dev.trunkline

import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Contextual
import kotlinx.serialization.DeserializationStrategy
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonClassDiscriminator
import kotlinx.serialization.json.JsonContentPolymorphicSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.serializer
import java.util.UUID
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import kotlin.time.Instant
import kotlin.uuid.ExperimentalUuidApi
import kotlin.uuid.Uuid

class SchemaTest {
    @Serializable
    enum class System {
        @SerialName("metric")
        METRIC,
    }

    @Serializable
    @Description("A question")
    class Question(@Description("Name of the city") val city: String, val days: Int = 1, val unit: System? = null, val tags: List<String>)

    @Serializable
    class Tree(val children: List<Tree>)

    @Test
    fun `a class has its properties and their descriptions`() {
        val expected =
            """{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"},""" +
                """"days":{"type":"integer","minimum":-2147483648,"maximum":2147483647},""" +
                """"unit":{"anyOf":[{"type":"string","enum":["metric"]},{"type":"null"}]},""" +
                """"tags":{"type":"array","items":{"type":"string"}}},""" +
                """"required":["city","tags"],"description":"A question"}"""
        assertEquals(expected, schemaOf(serializer<Question>().descriptor).toString())
    }

    @Test
    fun `a class that contains itself is a definition`() {
        val schema = schemaOf(serializer<Tree>().descriptor)
        assertEquals(
            """{"type":"array","items":{"${'$'}ref":"#/${'$'}defs/Tree"}}""",
            (schema.getValue("properties") as Map<*, *>)["children"].toString(),
        )
        assertTrue("\$defs" in schema)
    }

    @Serializable
    class Asked(@Contextual val question: Question)

    @Serializable
    class Unknown(@Contextual val id: UUID)

    @Test
    fun `a contextual property has the serializer of its class`() {
        val properties = schemaOf(serializer<Asked>().descriptor).getValue("properties") as JsonObject
        assertEquals(JsonPrimitive("object"), (properties.getValue("question") as JsonObject)["type"])
        val error = assertFailsWith<InvalidArgumentException> { schemaOf(serializer<Unknown>().descriptor) }
        assertTrue("UUID" in error.message.orEmpty(), error.message)
    }

    interface Open

    @Serializable
    class Opened(val open: Open)

    @Serializable
    class Keyed(val map: Map<Question, Int>)

    @Serializable
    sealed class Typed

    @Serializable
    class Type(val type: String) : Typed()

    @Test
    fun `a type that has no values in JSON is refused`() {
        val classes = mapOf("Open" to serializer<Opened>(), "Question" to serializer<Keyed>(), "Type" to serializer<Typed>())
        for ((name, own) in classes) {
            val error = assertFailsWith<InvalidArgumentException> { schemaOf(own.descriptor) }
            assertTrue(name in error.message.orEmpty(), error.message)
        }
        schemaOf(serializer<Map<Identifier, Map<System, Map<Int?, String>>>>().descriptor)
    }

    @Serializable
    @JvmInline
    value class Identifier(val text: String)

    @Serializable
    sealed interface Expression

    @Serializable
    @SerialName("value")
    class Value(val value: Int) : Expression

    @Serializable
    @SerialName("pair")
    class Pair(val left: Expression, val right: Expression, val other: Pair? = null) : Expression

    @Serializable
    class Formula(val expression: Expression)

    @Test
    fun `classes inside arguments refuse other members`() = runBlocking {
        val server = server("calculator", "1.0") { tool<Formula>("check") { "right" } }
        val one = """{"type":"value","value":1}"""
        val pair = """"type":"pair","left":$one,"right":{"type":"pair","left":$one,"right":$one}"""
        val calls =
            mapOf(
                "{$pair}" to false,
                """{$pair,"other":{"left":$one,"right":$one}}""" to false,
                """{$pair,"othr":null}""" to true,
                """{"type":"pair","left":$one,"right":{"type":"value","value":1,"unit":"m"}}""" to true,
                """{$pair,"other":{"left":$one,"right":$one,"othr":null}}""" to true,
            )
        Client.connect(server).use { client ->
            for ((expression, isError) in calls) {
                val arguments = JsonObject(mapOf("expression" to json.parseToJsonElement(expression)))
                assertEquals(isError, client.callTool("check", arguments).isError, expression)
            }
        }
        server.close()
        assertFalse("additionalProperties" in schemaOf(serializer<Formula>().descriptor).toString())
    }

    @Serializable
    @SerialName("first.Node")
    class First(val nodes: List<First>)

    @Serializable
    @SerialName("second.Node")
    class Second(val name: String, val nodes: List<Second>)

    @Serializable
    class Nodes(val first: First, val second: Second)

    @Test
    fun `classes of one name have definitions of their own`() {
        val definitions = schemaOf(serializer<Nodes>().descriptor).getValue("\$defs") as JsonObject
        assertEquals(setOf("Node", "Node2"), definitions.keys)
    }

    @OptIn(ExperimentalSerializationApi::class)
    @Serializable
    @JsonClassDiscriminator("kind")
    sealed interface Event

    @Serializable
    @SerialName("click")
    class Click(val x: Int) : Event

    @Serializable
    class Page<T>(val items: List<T>)

    @Serializable
    class Arguments(
        val event: Event,
        val box: kotlin.Pair<kotlin.Pair<kotlin.Pair<Int, Int>, Int>, Int>,
        val pages: Page<Page<Int>>,
        val filter: JsonObject,
        val value: JsonElement?,
        val list: JsonArray,
        val plain: JsonPrimitive,
    )

    @Test
    fun `a schema accepts what is written`() = runBlocking {
        val server = server("test", "1.0") { tool<Arguments>("count") { "${it.box.first.first.second}, ${it.pages.items.single().items}" } }
        val (filter, list) = JsonObject(mapOf("a" to JsonArray(listOf()))) to JsonArray(listOf(JsonPrimitive(1)))
        val given = Arguments(Click(1), 1 to 2 to 3 to 4, Page(listOf(Page(listOf(5)))), filter, list, list, JsonPrimitive(6))
        Client.connect(server).use { client ->
            val arguments = values.encodeToJsonElement(given) as JsonObject
            assertEquals("2, [5]", client.callTool<String>("count", arguments))
            assertTrue(client.callTool("count", arguments.with("plain" to list)).isError)
            assertTrue(client.callTool("count", arguments.with("pages" to mapOf("items" to listOf(5)))).isError)
        }
        server.close()
    }

    @Serializable
    class Numbers(val short: Short, val long: Long, val byte: UByte, val int: UInt?, val big: ULong)

    @Test
    fun `integers have the bounds of their types`() {
        val properties = schemaOf(serializer<Numbers>().descriptor).getValue("properties") as JsonObject
        val expected =
            mapOf(
                "short" to """{"type":"integer","minimum":-32768,"maximum":32767}""",
                "long" to """{"type":"integer"}""",
                "byte" to """{"type":"integer","minimum":0,"maximum":255}""",
                "int" to """{"anyOf":[{"type":"integer","minimum":0,"maximum":4294967295},{"type":"null"}]}""",
                "big" to """{"type":"integer","minimum":0}""",
            )
        assertEquals(expected, properties.mapValues { it.value.toString() })
    }

    /** The last number that a property accepts, and one beyond it. */
    private class Bound(val name: String, val last: String, val beyond: String) {
        // The schema has no bounds of 64 bits. Decoding refuses what is beyond them.
        val place = if (name == "long") "\$.long" else "/$name: "
        val reason =
            when {
                name == "long" -> "long"
                beyond.startsWith("-") -> "less than the minimum of $last"
                else -> "greater than the maximum of $last"
            }
    }

    private val bounds =
        listOf(
            Bound("short", "-32768", "-32769"),
            Bound("short", "32767", "32768"),
            Bound("long", "-9223372036854775808", "-9223372036854775809"),
            Bound("long", "-9223372036854775808", "-9223372036854777856"),
            Bound("long", "9223372036854775807", "9223372036854775808"),
            Bound("long", "9223372036854775807", "9223372036854775808.0"),
            Bound("long", "9223372036854775807", "1e30"),
            Bound("byte", "255", "256"),
            Bound("int", "4294967295", "4294967296"),
            Bound("big", "0", "-1"),
        )

    @Test
    fun `an integer out of range is refused`() = runBlocking {
        val server = server("test", "1.0") { tool<Numbers, Numbers>("same") { it } }
        Client.connect(server).use { client ->
            val zeros = jsonObjectOf("short" to 0, "long" to 0, "byte" to 0, "int" to 0, "big" to 0)
            for (bound in bounds) {
                val given = zeros.with(bound.name to Json.parseToJsonElement(bound.last))
                assertEquals(given, client.callTool("same", given).structuredContent)
                val refused = client.callTool("same", zeros.with(bound.name to Json.parseToJsonElement(bound.beyond)))
                assertTrue(refused.isError, "${bound.name}: ${bound.beyond}")
                assertContains(refused.text, bound.place)
                assertContains(refused.text, bound.reason)
            }
        }
        server.close()
    }

    @OptIn(ExperimentalUuidApi::class)
    @Serializable
    class Formats(val at: Instant, val id: Uuid?)

    @Test
    fun `strings have their format`() {
        val properties = schemaOf(serializer<Formats>().descriptor).getValue("properties") as JsonObject
        val expected =
            mapOf(
                "at" to """{"type":"string","format":"date-time"}""",
                "id" to """{"anyOf":[{"type":"string","format":"uuid"},{"type":"null"}]}""",
            )
        assertEquals(expected, properties.mapValues { it.value.toString() })
    }

    @Serializable
    class Position(
        @SchemaKeywords("""{"minimum": -90, "maximum": 90}""") val latitude: Double,
        @Description("Where") @SchemaKeywords("""{"pattern": "^[a-z]+$"}""") val name: String? = null,
        @SchemaKeywords("""{"minimum": 1, "default": 7}""") val days: Int = 7,
        @SchemaKeywords("""{"maxItems": 2}""") val codes: List<Code> = listOf(),
    )

    @Serializable
    @JvmInline
    @SchemaKeywords("""{"minLength": 2}""")
    value class Code(val text: String)

    @Serializable
    class Misspelled(@SchemaKeywords("minimum: 1") val days: Int)

    @Test
    fun `keywords are added, and checked`() = runBlocking {
        val properties = schemaOf(serializer<Position>().descriptor).getValue("properties") as JsonObject
        val expected =
            mapOf(
                "latitude" to """{"type":"number","minimum":-90,"maximum":90}""",
                "name" to """{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"null"}],"description":"Where"}""",
                "days" to """{"type":"integer","minimum":1,"maximum":2147483647,"default":7}""",
                "codes" to """{"type":"array","items":{"type":"string","minLength":2},"maxItems":2}""",
            )
        assertEquals(expected, properties.mapValues { it.value.toString() })
        val error = assertFailsWith<InvalidArgumentException> { schemaOf(serializer<Misspelled>().descriptor) }
        assertEquals("@SchemaKeywords needs a JSON object, and has minimum: 1", error.message)
        val server = server("test", "1.0") { tool<Position>("days") { it.days } }
        val calls =
            mapOf(
                """{"latitude":90}""" to false,
                """{"latitude":90.5}""" to true,
                """{"latitude":0,"name":"A"}""" to true,
                """{"latitude":0,"days":0}""" to true,
                """{"latitude":0,"codes":["NO","N"]}""" to true,
            )
        Client.connect(server).use { client ->
            for ((arguments, isError) in calls) {
                assertEquals(isError, client.callTool("days", json.parseToJsonElement(arguments) as JsonObject).isError, arguments)
            }
        }
        server.close()
    }

    @Serializable
    class Trip(
        val city: String,
        val system: System,
        val from: Instant,
        val stops: List<Code>,
        val position: Position,
        val days: Int = 7,
        val unit: System = System.METRIC,
        @SchemaKeywords("""{"default": ["b"]}""") val tags: List<String> = listOf("a"),
        val code: Code = Code("xy"),
        val title: String = "To $city",
        val note: String? = null,
        val other: String? = "none",
    )

    @Serializable
    class Checked(val city: String, val days: Int = 7) {
        init {
            require(city.length > 1) { "city is too short" }
        }
    }

    @Test
    fun `the defaults of a class are in the schema of arguments`() {
        fun defaultsOf(serializer: KSerializer<*>): Map<String, String> {
            val schema = argumentsSchemaOf(serializer.descriptor).withDefaultsOf(serializer)
            val properties = schema.getValue("properties") as JsonObject
            return properties.filterValues { "default" in (it as JsonObject) }.mapValues { (it.value as JsonObject)["default"].toString() }
        }
        val expected = mapOf("days" to "7", "unit" to "\"metric\"", "tags" to "[\"b\"]", "code" to "\"xy\"", "other" to "\"none\"")
        assertEquals(expected, defaultsOf(serializer<Trip>()))
        // Its samples are refused.
        assertEquals(mapOf(), defaultsOf(serializer<Checked>()))
    }

    @Test
    fun `results that are not objects are wrapped`() {
        val list = OutputSchema(serializer<List<Byte>>().descriptor)
        assertTrue(list.isWrapped)
        assertEquals(
            """{"type":"object","properties":{"result":{"type":"array","items":{"type":"integer","minimum":-128,"maximum":127}}},""" +
                """"required":["result"]}""",
            list.schema.toString(),
        )
        assertFalse(OutputSchema(serializer<Question>().descriptor).isWrapped)
    }

    object ByContent : JsonContentPolymorphicSerializer<Any>(Any::class) {
        override fun selectDeserializer(element: JsonElement): DeserializationStrategy<Any> =
            if (element is JsonObject) serializer<Question>() else serializer<Identifier>()
    }

    @Test
    fun `a serializer that chooses by the content reads any value`() {
        assertEquals(JsonObject(mapOf()), schemaOf(ByContent.descriptor))
    }
}
