package dev.trunkline

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.TestFactory
import org.junit.jupiter.api.TestInstance
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.nio.file.Path
import java.time.Duration
import kotlin.io.path.readText
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.seconds

/** Reads messages of peers as all languages do: the tables of `tests`. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReadersTest {
    @Serializable
    data class Row(val name: String, val sent: String, val seen: String = "", val mayRefuse: String? = null)

    @Serializable
    class Transfer(val amount: Double? = null, val kind: String? = null)

    @Serializable
    class Payment(
        val amount: Double? = null,
        val kind: String? = null,
        val status: String? = null,
        val huge: JsonPrimitive? = null,
        val transfer: Transfer? = null,
        val items: List<Transfer>? = null,
        val named: Map<String, Transfer>? = null,
    ) {
        /** The members, of which the encoder of kotlinx.serialization would round a number. */
        fun json(): JsonObject = JsonObject(Json.encodeToJsonElement(this).jsonObject + listOfNotNull(huge?.let { "huge" to it }))
    }

    private val readers = table("json-readers.json").jsonObject
    private val schema = readers.getValue("schema").jsonObject
    private val cases = rows("cases")
    private val refused = rows("refused")

    private val http = HttpClient.newHttpClient()
    private val seen = Channel<JsonElement>(Channel.UNLIMITED)
    private val judged = Channel<JsonElement>(Channel.UNLIMITED)
    private lateinit var listener: Listener
    private val server =
        server("readers", "1.0") {
            tool("json", inputSchema = schema) {
                seen.send(it)
                ""
            }
            tool<Payment>("class") {
                seen.send(it.json())
                ""
            }
            tool("result", inputSchema = schema) { CallToolResult(structuredContent = it) }
            middleware("tools/call") { request ->
                judged.send(request.params.getValue("arguments"))
                request.next()
            }
        }

    @BeforeAll
    fun serve() = runBlocking { listener = server.listen { configure() } }

    private fun HttpOptions.configure() {
        port = 0
        json = true
    }

    @AfterAll
    fun close() = runBlocking { server.close() }

    private fun rows(name: String): List<Row> = Json.decodeFromJsonElement(readers.getValue(name))

    /** Compares what was seen, or the error instead of it, with what may be. */
    private fun Row.check(who: String, given: JsonElement?, refusal: String?) {
        if (refusal == null) {
            assertEquals(known(Json.parseToJsonElement(seen), schema), known(assertNotNull(given, who), schema), who)
        } else {
            assertTrue(mayRefuse != null && mayRefuse in refusal, "$who is refused: $refusal")
        }
    }

    /** The members that the schema has. Equal numbers are equal. */
    private fun known(value: JsonElement, of: JsonObject): Any? {
        val reference = of.string("\$ref")?.removePrefix("#/\$defs/")
        if (reference != null) return known(value, schema.getValue("\$defs").jsonObject.getValue(reference).jsonObject)
        return when (value) {
            is JsonObject -> {
                val properties = of["properties"]?.jsonObject.orEmpty()
                value.mapNotNull { (name, member) ->
                    (properties[name] ?: of["additionalProperties"])?.let { name to known(member, it.jsonObject) }
                }.toMap()
            }

            is JsonArray -> value.map { known(it, of.getValue("items").jsonObject) }

            is JsonNull -> null

            is JsonPrimitive -> if (value.isString) value.content else value.content.toBigDecimal().stripTrailingZeros()
        }
    }

    @TestFactory
    fun `handlers see the arguments that were validated`(): List<DynamicTest> {
        assertTrue(cases.size >= 40)
        return cases.map { row ->
            dynamicTest(row.name) {
                for (tool in listOf("json", "class")) {
                    val refusal = call(tool, row.sent)
                    val (given, request) = seen.tryReceive().getOrNull() to judged.tryReceive().getOrNull()
                    if (tool == "class" && refusal != null && "is not allowed" in refusal) {
                        // A class has no other members.
                        assertNull(given, refusal)
                    } else {
                        row.check("the handler of $tool", given, refusal)
                        row.check("middleware", request, refusal)
                    }
                }
            }
        }
    }

    @TestFactory
    fun `what is no JSON never reaches a handler`(): List<DynamicTest> {
        assertTrue(refused.size >= 8)
        return refused.map { row ->
            dynamicTest(row.name) {
                assertNotNull(call("json", row.sent))
                assertNull(seen.tryReceive().getOrNull())
                // Some is refused behind middleware.
                judged.tryReceive()
            }
        }
    }

    /** Calls a tool with a text as its arguments, and returns why it was refused. */
    private fun call(tool: String, arguments: String): String? {
        val meta =
            """{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}}"""
        val params = """{"name": "$tool", "arguments": $arguments, "_meta": $meta}"""
        val body = """{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": $params}"""
        val request = HttpRequest.newBuilder(URI(listener.url)).timeout(Duration.ofSeconds(30)).POST(BodyPublishers.ofString(body))
        request.header("content-type", "application/json").header("accept", "application/json, text/event-stream")
        request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/call").header("mcp-name", tool)
        val response = Json.parseToJsonElement(http.send(request.build(), BodyHandlers.ofString()).body()).jsonObject
        response["error"]?.let { return it.toString() }
        val result = decoded<CallToolResult>(response.getValue("result"))
        return result.text.takeIf { result.isError }
    }

    @TestFactory
    fun `clients see the content that was validated`(): List<DynamicTest> = cases.map { row ->
        dynamicTest(row.name) {
            val tools = """{"tools": [{"name": "pay", "inputSchema": {"type": "object"}, "outputSchema": $schema}]}"""
            val content = """{"content": [], "structuredContent": ${row.sent}}"""
            scripted("tools/list" to tools, "tools/call" to content) { client ->
                // Results are validated against the schemas that are known.
                assertEquals(1, client.listTools().size)
                check(row, "the result") { client.callTool("pay").structuredContent }
                check(row, "the class") { client.callTool<Payment>("pay").json() }
            }
        }
    }

    @Test
    fun `results keep all digits of their numbers`() = runBlocking {
        withTimeout(20.seconds) {
            Client.connect(server).use { client ->
                for (number in listOf("18446744073709551617", "-9223372036854775809", "0.12345678901234567890123")) {
                    val given = JsonObject(mapOf("huge" to Json.parseToJsonElement(number)))
                    assertEquals(given.toString(), client.callTool("result", given).structuredContent.toString())
                    judged.receive()
                }
            }
        }
    }

    private suspend fun check(row: Row, who: String, read: suspend () -> JsonElement?) {
        val result = runCatching { read() }
        val failure = result.exceptionOrNull()
        if (failure != null && failure !is TrunklineException) throw failure
        row.check(who, result.getOrNull(), failure?.message)
    }

    private fun scripted(vararg results: Pair<String, String>, work: suspend (Client) -> Unit) = runBlocking {
        withTimeout(20.seconds) {
            val options: ClientOptions.() -> Unit = {
                revision = RevisionChoice.LEGACY
                reconnect = false
            }
            Client.connect(Scripted(mapOf(*results)), options).use { work(it) }
        }
    }
}
