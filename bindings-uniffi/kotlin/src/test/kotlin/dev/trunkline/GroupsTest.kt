package dev.trunkline

import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.util.concurrent.ConcurrentHashMap
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

class GroupsTest {
    /** Keeps everything in memory, and nothing for a limited time. */
    private class Memory : Store {
        private val texts = ConcurrentHashMap<String, String>()
        private val logs = HashMap<String, MutableList<StoredEntry>>()
        private var last = 0L

        override suspend fun get(key: String): String? = texts[key]

        override suspend fun put(key: String, text: String, keepFor: Duration) {
            texts[key] = text
        }

        override suspend fun putIf(key: String, expected: String?, text: String, keepFor: Duration): Boolean =
            if (expected == null) texts.putIfAbsent(key, text) == null else texts.replace(key, expected, text)

        override suspend fun remove(key: String) {
            texts.remove(key)
            synchronized(logs) { logs.remove(key) }
        }

        override suspend fun append(log: String, entry: String, maxEntries: Long, keepFor: Duration): Long = synchronized(logs) {
            val entries = logs.getOrPut(log, ::mutableListOf)
            entries += StoredEntry(++last, entry)
            while (entries.size > maxEntries) entries.removeFirst()
            last
        }

        override suspend fun read(log: String, after: Long, limit: Long, wait: Duration): List<StoredEntry> =
            synchronized(logs) { logs[log].orEmpty().filter { it.position > after }.take(limit.toInt()) }
    }

    private class Unreachable : Store {
        private fun fail(): Nothing = error("no route to the store")

        override suspend fun get(key: String): String? = fail()

        override suspend fun put(key: String, text: String, keepFor: Duration): Unit = fail()

        override suspend fun putIf(key: String, expected: String?, text: String, keepFor: Duration): Boolean = fail()

        override suspend fun remove(key: String): Unit = fail()

        override suspend fun append(log: String, entry: String, maxEntries: Long, keepFor: Duration): Long = fail()

        override suspend fun read(log: String, after: Long, limit: Long, wait: Duration): List<StoredEntry> = fail()
    }

    private fun test(work: suspend () -> Unit) = runBlocking { withTimeout(30.seconds) { work() } }

    @Test
    fun `a group routes requests and reports servers that fail`() = test {
        val weather = server("weather", "1") { tool("forecast") { "rain" } }
        val shared = Client.connect(weather)
        ClientGroup.connect(mapOf("weather" to GroupTarget(shared), "gone" to GroupTarget(listOf("/nonexistent/program")))).use { group ->
            assertEquals("rain", group.callTool<String>("weather__forecast"))
            val gone = group.servers().single { it.name == "gone" }
            assertTrue(gone.error is TransportException, gone.toString())
            group.removeServer("gone")
            group.addServer("more", GroupTarget(shared))
            assertEquals(listOf("more__forecast", "weather__forecast"), group.listTools().map { it.name }.sorted())
        }
        assertTrue(shared.isConnected)
        shared.close()
        weather.close()
    }

    @Test
    fun `a store of the program keeps tasks`() = test {
        val server =
            server("tasks", "1", store = Memory()) {
                tool("work", options = { task = TaskSupport.OPTIONAL }) { "done" }
            }
        Client.connect(server).use { client ->
            client.startTask("work").use { task ->
                assertTrue(task.id != null)
                assertEquals("done", task.result().read<String>())
            }
        }
        server.close()
    }

    @Test
    fun `the check of a store tells what is wrong`() = test {
        val findings = checkStore(Unreachable())
        assertTrue(findings.any { "no route" in it }, findings.toString())
    }

    /** Checks a store, and does nothing else in its process. */
    private object Checking {
        @JvmStatic
        fun main(arguments: Array<String>) = runBlocking { println(checkStore(Unreachable()).any { "no route" in it }) }
    }

    @Test
    fun `a store is checked in a process that serves nothing`() {
        assertEquals("true", outputOf(Checking::class.java).lines().last())
    }

    @Test
    fun `a failing store fails the call that needs it`() = test {
        val server =
            server("tasks", "1", store = Unreachable()) {
                tool("work", options = { task = TaskSupport.OPTIONAL }) { "done" }
                tool("echo") { "here" }
            }
        Client.connect(server).use { client ->
            assertFailsWith<TrunklineException> { client.startTask("work").use { it.result() } }
            assertEquals("here", client.callTool<String>("echo"))
        }
        server.close()
    }

    @Test
    fun `an unknown value of a type of strings is kept`() {
        val message = json.decodeFromString(LogMessage.serializer(), """{"level": "fatal", "data": 1}""")
        assertEquals("fatal", message.level.value)
        assertEquals(LoggingLevel("fatal"), message.level)
        assertEquals(JsonPrimitive("fatal"), (json.encodeToJsonElement(LogMessage.serializer(), message) as JsonObject)["level"])
    }
}
