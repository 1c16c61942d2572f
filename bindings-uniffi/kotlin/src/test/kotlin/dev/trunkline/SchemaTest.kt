package dev.trunkline

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.serializer
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue

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
    class Numbers(val short: Short, val long: Long, val byte: UByte, val int: UInt?, val big: ULong)

    @Test
    fun `integers have the bounds of their types`() {
        val properties = schemaOf(serializer<Numbers>().descriptor).getValue("properties") as JsonObject
        val expected =
            mapOf(
                "short" to """{"type":"integer","minimum":-32768,"maximum":32767}""",
                "long" to """{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}""",
                "byte" to """{"type":"integer","minimum":0,"maximum":255}""",
                "int" to """{"anyOf":[{"type":"integer","minimum":0,"maximum":4294967295},{"type":"null"}]}""",
                "big" to """{"type":"integer","minimum":0}""",
            )
        assertEquals(expected, properties.mapValues { it.value.toString() })
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
}
