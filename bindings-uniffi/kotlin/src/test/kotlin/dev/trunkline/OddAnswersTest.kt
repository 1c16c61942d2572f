package dev.trunkline

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.decodeFromJsonElement
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.TestFactory
import org.junit.jupiter.api.TestInstance
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.seconds

/** Odd responses, of which every language makes the same: `tests/odd-answers.json`. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OddAnswersTest {
    @Serializable
    data class Row(
        val what: String,
        val method: String,
        val result: String,
        val tools: String? = null,
        val reads: JsonObject = JsonObject(emptyMap()),
        val warns: List<String>? = null,
        /** The parts of the warning. */
        val record: JsonObject? = null,
        val refused: String? = null,
        /** The values read in a group, which is not played here. */
        val inGroup: JsonObject? = null,
    )

    private val rows: List<Row> = Json.decodeFromJsonElement(table("odd-answers.json"))
    private val logged = Channel<LogRecord>(Channel.UNLIMITED)
    private val before = logger

    @BeforeAll
    fun listen() {
        logger = { logged.trySend(it) }
    }

    @AfterAll
    fun restore() {
        logger = before
    }

    @TestFactory
    fun `every odd response has one verdict`(): List<DynamicTest> {
        assertTrue(rows.size >= 80)
        return rows.map { row ->
            dynamicTest("${row.method}: ${row.what}") {
                runBlocking { records() }
                if (row.refused == null) {
                    check(row)
                } else {
                    val error = assertFailsWith<TransportException> { check(row) }
                    assertContains(error.message.orEmpty(), row.refused)
                }
            }
        }
    }

    private fun check(row: Row) = runBlocking {
        withTimeout(20.seconds) {
            val results = listOfNotNull(row.tools?.let { "tools/list" to it }, row.method to row.result).toMap()
            val options: ClientOptions.() -> Unit = {
                // A client with a given revision needs no discovery.
                if (row.method != "server/discover") revision = RevisionChoice.V2025_11_25
                reconnect = false
            }
            Client.connect(Scripted(results), options).use { client ->
                if (row.tools != null) client.listTools()
                val found = client.read(row.method)
                assertEquals(row.reads, JsonObject(found.filterKeys { it in row.reads }))
            }
            if (row.warns == null) {
                assertEquals(emptyList(), records())
            } else {
                var warning = logged.receive()
                while (!row.warns.all { it in warning.message }) warning = logged.receive()
                val parts = with(warning) { objectOf("level" to level, "target" to target, "event" to event, "fields" to fields) }
                assertEquals(row.record ?: parts, parts)
            }
        }
    }

    /** The records so far: those of the core arrive on a thread of their own. */
    private suspend fun records(): List<String> {
        receive(LogRecord("info", END, "test"))
        return buildList {
            while (true) add(logged.receive().message.takeIf { it != END } ?: break)
        }
    }

    private suspend fun Client.read(method: String): JsonObject = when (method) {
        "initialize", "server/discover" -> jsonObjectOf("server" to serverInfo?.name, "revision" to revision)

        "tools/call" -> with(callTool("t")) { objectOf("text" to text, "isError" to isError, "blocks" to content.size) }

        "tools/list" -> objectOf("names" to listTools().map { it.name })

        "resources/list" -> objectOf("names" to listResources().map { it.name })

        "resources/templates/list" -> objectOf("names" to listResourceTemplates().map { it.name })

        "prompts/list" -> objectOf("names" to listPrompts().map { it.name })

        "prompts/get" -> objectOf("texts" to getPrompt("p").messages.map { (it.content as? TextContent)?.text })

        "resources/read" -> objectOf("texts" to readResource("a:b").contents.map(::textOf))

        "completion/complete" ->
            objectOf("values" to complete(PromptReference("p"), CompleteArgument("a", "x")).completion.values)

        else -> throw IllegalArgumentException(method)
    }

    private fun textOf(contents: ResourceContents) = when (contents) {
        is BlobResourceContents -> contents.blob
        is TextResourceContents -> contents.text
    }
}

private const val END = "no more records"
