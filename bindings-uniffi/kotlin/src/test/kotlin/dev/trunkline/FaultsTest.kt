package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import java.io.File
import java.io.RandomAccessFile
import java.nio.file.Files
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertIs
import kotlin.test.assertNotNull
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class FaultsTest {
    private fun event(kind: UByte, ticket: ULong) = Event(kind, ticket, NONE, true, "", ByteArray(0), NONE, NONE)

    private val broken: (Event) -> Nothing = { throw NoSuchMethodError("a method of another version") }

    @Test
    fun `a reply that cannot be handled fails its request`() = runBlocking {
        val started = CompletableDeferred<Unit>()
        val waiting =
            server("test", "1.0") {
                tool("waits") {
                    started.complete(Unit)
                    awaitCancellation()
                }
            }
        withTimeout(20.seconds) {
            Client.connect(waiting).use { client ->
                val ticket = Port.requests.start(client.handle, "tools/call", objectOf("name" to "waits"), null)
                val reply = async { runCatching { Port.requests.reply(ticket) } }
                started.await()
                Port.receive(event(EventKind.REPLY, ticket), broken)
                assertContains(assertIs<InternalException>(reply.await().exceptionOrNull()).message.orEmpty(), "NoSuchMethodError")
            }
            waiting.close(0.seconds)
        }
    }

    @Test
    fun `a response that cannot be handled fails its request`() = runBlocking {
        val exchange = Exchange(20.seconds)
        withTimeout(20.seconds) {
            val server = server("test", "1.0")
            val opened = OpenHandle(server)
            // Without its body, the request gets no response.
            val headers = mapOf("host" to "127.0.0.1", "content-type" to "application/json", "content-length" to "100")
            val head = objectOf("method" to "POST", "path" to "/mcp", "headers" to headers.map { (name, value) -> listOf(name, value) })
            opened.open(objectOf("server" to server.handle, "transport" to objectOf("type" to "http", "mounted" to true)))
            val ticket = Port.exchange(opened.handle, head, exchange, EmptyCoroutineContext)
            Port.receive(event(EventKind.HTTP_HEAD, ticket), broken)
            assertFailsWith<InternalException> { exchange.response() }
            server.close(0.seconds)
        }
    }

    @Test
    fun `a call that is cancelled before its thread runs the handler`() {
        var hasRun = false
        val callable = Callable("a tool", Owner(Dispatchers.Default, null, null)) { answerOf("late").also { hasRun = true } }
        callable.isShort = true
        val (calls, ticket) = Calls(Port.core) to ULong.MAX_VALUE
        val run = assertNotNull(calls.start(event(EventKind.CALL, ticket), callable, EmptyCoroutineContext) { true })
        calls.cancel(ticket, "as its client wanted")
        run()
        assertFalse(hasRun)
    }

    @Test
    fun `a dispatcher that fails does not leave its calls waiting`() = runBlocking {
        val failing =
            object : CoroutineDispatcher() {
                override fun dispatch(context: CoroutineContext, block: Runnable): Unit = throw NoSuchMethodError("gone")
            }
        val server = server("test", "1.0", dispatcher = failing) { tool("never") { "never" } }
        withTimeout(20.seconds) {
            Client.connect(server).use { client ->
                assertFailsWith<ToolException> { client.callTool<String>("never") }
            }
            server.close()
        }
    }

    /** Tries twice to use a library that cannot be loaded. */
    private object Unloadable {
        @JvmStatic
        fun main(arguments: Array<String>) {
            repeat(2) {
                println(runCatching { server("test", "1.0") }.exceptionOrNull())
                println(runCatching { dev.trunkline.java.Server("test", "1.0") }.exceptionOrNull())
            }
        }
    }

    @Test
    fun `a library that cannot be loaded is explained each time`() {
        val cases =
            mapOf(
                listOf("-Djna.tmpdir=/dev/null/none", "-Djna.nosys=true") to "-Djna.tmpdir=FOLDER",
                listOf("-Djna.library.path=/nonexistent") to "-Djna.tmpdir=FOLDER",
                listOf("-Djna.prefix=plan9-x86", "-Djna.library.path=/nonexistent") to "linux-aarch64, darwin-x86-64",
            )
        for ((options, expected) in cases) {
            val output = outputOf(Unloadable::class.java, options)
            val lines = output.lines().filter { it.startsWith("dev.trunkline.") }
            assertEquals(4, lines.size, output)
            for (line in lines) {
                assertContains(line, "dev.trunkline.LibraryLoadException: the native library of Trunkline could not be loaded on")
                assertContains(line, expected)
            }
        }
    }

    @Test
    fun `a library that was cut short ends no process`() {
        val name = System.mapLibraryName("trunkline_uniffi")
        if (!name.endsWith(".so")) return
        val folder = Files.createTempDirectory("trunkline").toFile()
        val folders = System.getProperty("jna.library.path").orEmpty().split(File.pathSeparator)
        val file = folders.map { File(it, name) }.first { it.exists() }.copyTo(File(folder, name))
        for (length in listOf(file.length() - 1, 1L shl 20, 64)) {
            RandomAccessFile(file, "rw").use { it.setLength(length) }
            val output = outputOf(Unloadable::class.java, listOf("-Djna.library.path=$folder"))
            val lines = output.lines().filter { it.startsWith("dev.trunkline.LibraryLoadException") }
            assertEquals(4, lines.size, output)
            for (line in lines) assertContains(line, "is incomplete ($length of at least")
        }
        folder.deleteRecursively()
    }

    @Test
    fun `negative times are named`() = runBlocking {
        val server = server("test", "1.0")
        withTimeout(20.seconds) {
            Client.connect(server).use { client ->
                val error = assertFailsWith<InvalidArgumentException> { client.ping { timeout = (-1).milliseconds } }
                assertEquals("a time must not be negative: -1ms", error.message)
            }
            server.close()
        }
    }

    @Test
    fun `a type without a serializer is named with its tool`() {
        val error = assertFailsWith<InvalidArgumentException> { server("test", "1.0") { tool<Any>("anything") { "" } } }
        assertContains(error.message.orEmpty(), "tool anything: Serializer for class")
    }

    @Test
    fun `null members of other variants are ignored`() {
        val text = """{"contents": [{"uri": "a://b", "text": null, "blob": "AQ=="}, {"uri": "a://b", "text": "a", "blob": null}]}"""
        val (blob, plain) = decoded<ReadResourceResult>(checkNotNull(parse(text))).contents
        assertIs<BlobResourceContents>(blob)
        assertIs<TextResourceContents>(plain)
        val result = decoded<CallToolResult>(checkNotNull(parse("""{"content": null, "isError": null}""")))
        assertEquals(emptyList(), result.content)
    }
}
