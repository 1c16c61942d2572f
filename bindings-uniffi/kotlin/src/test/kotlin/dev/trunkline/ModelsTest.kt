package dev.trunkline

import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import java.io.File
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class ModelsTest {
    @Test
    fun `results of the vectors are read and written`() {
        val vectors = File("../../tests/vectors/client").listFiles { file -> file.extension == "json" }.orEmpty()
        val read =
            vectors.sumOf { file ->
                results(file).onEach { (method, result) -> check(file, method, result) }.size
            }
        assertTrue(read > 20, "$read results")
    }

    @Test
    fun `unknown members are tolerated`() {
        val tool = json.decodeFromString<Tool>("""{"name": "a", "inputSchema": {}, "later": 1}""")
        assertEquals(Tool(name = "a", inputSchema = NOTHING), tool)
    }

    @Test
    fun `huge numbers of peers are the largest of their type`() {
        for (huge in listOf("9".repeat(400), "1e400", "18446744073709551617")) {
            val text = """{"uri": "a:b", "name": "r", "size": $huge}"""
            assertEquals(Long.MAX_VALUE, json.decodeFromString<Resource>(text).size)
            assertEquals(Long.MAX_VALUE, json.decodeFromJsonElement<Resource>(json.parseToJsonElement(text)).size)
            assertEquals(Long.MIN_VALUE, json.decodeFromString<Resource>("""{"uri": "a:b", "name": "r", "size": -$huge}""").size)
            assertEquals(Long.MAX_VALUE.milliseconds, json.decodeFromString<ListToolsResult>("""{"tools": [], "ttlMs": $huge}""").ttl)
            val largest = huge.toDouble().coerceAtMost(Double.MAX_VALUE)
            assertEquals(-largest, json.decodeFromString<Progress>("""{"progress": -$huge}""").progress)
        }
        assertEquals(5, json.decodeFromString<Resource>("""{"uri": "a:b", "name": "r", "size": 5.0}""").size)
        assertFailsWith<SerializationException> { json.decodeFromString<Resource>("""{"uri": "a:b", "name": "r", "size": 1.5}""") }
    }

    @Test
    fun `blocks have the class of their type`() {
        val blocks =
            """[{"type": "text", "text": "a"}, {"type": "later", "x": 1}, {"type": "image"},
                {"type": "resource", "resource": {"uri": "a:b", "blob": "AA=="}}]"""
        val read = json.decodeFromString<List<ContentBlock>>(blocks)
        assertEquals(TextContent("a"), read[0])
        assertIs<OtherContent>(read[1])
        assertIs<OtherContent>(read[2], "an image without data")
        assertIs<BlobResourceContents>(assertIs<EmbeddedResource>(read[3]).resource)
        assertEquals(json.parseToJsonElement(blocks), json.encodeToJsonElement(read))
    }

    @Test
    fun `one block of sampling is no list`() {
        val message = """{"role":"user","content":{"text":"a","type":"text"}}"""
        val read = json.decodeFromString<SamplingMessage>(message)
        assertEquals(SamplingMessage(Role.USER, listOf(TextContent("a"))), read)
        assertEquals(json.parseToJsonElement(message), json.encodeToJsonElement(read))
    }

    @Test
    fun `times are milliseconds`() {
        assertEquals(1.seconds, json.decodeFromString<ListToolsResult>("""{"ttlMs": 1000}""").ttl)
        val options = ClientOptions().apply { timeout = 1500.milliseconds }
        assertEquals("""{"timeoutMs":1500}""", json.encodeToString(options))
    }

    @Test
    fun `only options that are set are written`() {
        assertEquals("{}", json.encodeToString(ServerOptions()))
        val options = HttpOptions().apply { sse = "" }
        assertEquals("""{"sse":false}""", json.encodeToString(options))
        val tokens =
            AuthOptions().apply {
                issuer = listOf("https://a.example")
                dpop = DpopPolicy.REQUIRED
            }
        assertEquals("""{"dpop":"required","issuer":"https://a.example"}""", json.encodeToString(tokens))
    }

    @Test
    fun `secrets are not shown`() {
        assertEquals("Token", Token("secret").toString())
    }

    @Test
    fun `errors carry their facts`() {
        val text = """{"kind": "transport", "message": "no", "data": {"reason": "exited", "exitCode": 3}}"""
        val error = assertIs<TransportException>(Exceptions.of(json.parseToJsonElement(text).jsonObject))
        assertEquals(FailureReason.EXITED, error.reason)
        assertEquals(3, error.exitCode)
        assertNull(error.signal)
    }

    private fun check(file: File, method: String, result: JsonObject) {
        val serializer = serializers[method] ?: return
        val (read, written) = roundTrip(serializer, result)
        assertEquals(read, json.decodeFromJsonElement(serializer, written), "$method in $file")
        assertEquals(essential(result), essential(written), "$method in $file")
    }

    private fun <T> roundTrip(serializer: KSerializer<T>, result: JsonObject): Pair<T, JsonElement> {
        val read = json.decodeFromJsonElement(serializer, result)
        return read to json.encodeToJsonElement(serializer, read)
    }

    /** The results that a scripted server sends, with the methods that it expects before them. */
    private fun results(file: File): List<Pair<String, JsonObject>> {
        var method = ""
        val results = mutableListOf<Pair<String, JsonObject>>()
        for (step in json
            .parseToJsonElement(file.readText())
            .jsonObject["script"]
            ?.jsonArray
            .orEmpty()) {
            step.jsonObject["expect"]?.jsonArray?.forEach { method = it.jsonObject.string("method") ?: method }
            val result = (step.jsonObject["send"] as? JsonObject)?.get("result") as? JsonObject
            if (result != null) results += method to result
        }
        return results
    }

    /** Without nulls and flags that are false, which mean the same as none. */
    private fun essential(value: JsonElement): JsonElement = when (value) {
        is JsonObject ->
            JsonObject(
                value.filterValues { it != JsonNull && it != no }.mapValues { essential(it.value) },
            )

        is JsonArray -> JsonArray(value.map(::essential))

        else -> value
    }

    private val no = JsonPrimitive(false)

    @Suppress("UNCHECKED_CAST")
    private val serializers: Map<String, KSerializer<Any>> =
        mapOf(
            Methods.LIST_TOOLS to ListToolsResult.serializer(),
            Methods.CALL_TOOL to CallToolResult.serializer(),
            Methods.LIST_RESOURCES to ListResourcesResult.serializer(),
            Methods.LIST_RESOURCE_TEMPLATES to ListResourceTemplatesResult.serializer(),
            Methods.READ_RESOURCE to ReadResourceResult.serializer(),
            Methods.LIST_PROMPTS to ListPromptsResult.serializer(),
            Methods.GET_PROMPT to GetPromptResult.serializer(),
            Methods.COMPLETE to CompleteResult.serializer(),
        ) as Map<String, KSerializer<Any>>
}
