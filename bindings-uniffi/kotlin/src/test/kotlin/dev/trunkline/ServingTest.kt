package dev.trunkline

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import sun.misc.Signal
import java.lang.ref.WeakReference
import java.net.ServerSocket
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlin.random.Random
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** The output of a program in another process. */
internal fun outputOf(
    program: Class<*>,
    options: List<String> = listOf("-Djna.library.path=${System.getProperty("jna.library.path").orEmpty()}"),
): String {
    val command = listOf("java") + options + listOf("-cp", System.getProperty("java.class.path"), program.name)
    val builder = ProcessBuilder(command).redirectErrorStream(true)
    // Cargo sets them for what it starts, and the library is found there as well.
    builder.environment().keys.removeAll(setOf("LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"))
    val process = builder.start()
    if (!process.waitFor(20, TimeUnit.SECONDS)) process.destroyForcibly()
    return process.inputReader().readText().trim()
}

class ServingTest {
    @Test
    fun `a listener serves over HTTP until it is closed`() = runBlocking {
        withTimeout(20.seconds) {
            val server = server("test", "1.0") { tool("hello") { "Hello!" } }
            val listener = server.listen { port = 0 }
            Client.connect(listener.url).use { assertEquals(listOf("hello"), it.listTools().map { tool -> tool.name }) }
            listener.close()
            assertEquals(FailureReason.REFUSED, assertFailsWith<TransportException> { Client.connect(listener.url) }.reason)
            server.close()
        }
    }

    @Test
    fun `a JVM without signals serves`() = runBlocking {
        for (without in listOf("-Xrs", "--limit-modules=java.se")) {
            val options = listOf(without, "-Djna.library.path=${System.getProperty("jna.library.path").orEmpty()}")
            val command = listOf("java") + options + listOf("-cp", System.getProperty("java.class.path"), "fixture.ServerKt")
            withTimeout(20.seconds) { Client.connect(command).use { assertTrue(it.isConnected) } }
        }
    }

    @Test
    fun `a client knows the process that runs`() = runBlocking {
        val known = """{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"test","version":"1"}}"""
        val script =
            """
            while read -r line; do
              id=${'$'}(printf '%s' "${'$'}line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
              result='$known'
              case ${'$'}line in *'"ping"'*) result='{}' ;; esac
              [ -z "${'$'}id" ] || echo '{"jsonrpc":"2.0","id":'"${'$'}id"',"result":'"${'$'}result"'}'
            done
            """
        withTimeout(20.seconds) {
            val client = Client.connect(listOf("sh", "-c", script)) { revision = RevisionChoice.V2025_06_18 }
            val first = client.pid
            ProcessHandle.of(checkNotNull(first)).get().destroyForcibly()
            for (attempt in 1..100) if (client.pid in listOf(null, first)) runCatching { client.ping() }
            assertTrue(client.pid !in listOf(null, first))
            client.close()
            assertNull(client.pid)
            assertEquals("test", client.serverInfo?.name)
        }
    }

    /** Connects for the first time while its process exits. */
    private object Exiting {
        @JvmStatic
        fun main(arguments: Array<String>) {
            val hook = thread(start = false) { runBlocking { Client.connect(server("test", "1.0")).use { println(it.isConnected) } } }
            Runtime.getRuntime().addShutdownHook(hook)
        }
    }

    @Test
    fun `a process that exits may connect`() {
        assertEquals("true", outputOf(Exiting::class.java))
    }

    @Test
    fun `cancelling a server in the foreground closes it`() = runBlocking {
        withTimeout(20.seconds) {
            // The system gives none of these to another socket meanwhile.
            val free = generateSequence { Random.nextInt(20_000, 32_000) }.first { runCatching { ServerSocket(it).close() }.isSuccess }
            val server = server("test", "1.0")
            val serving = launch { server.serveHttp { port = free } }
            while (runCatching { Client.connect("http://127.0.0.1:$free/mcp").close() }.isFailure) delay(20.milliseconds)
            serving.cancelAndJoin()
            ServerSocket(free).close()
            server.close()
        }
    }

    @Test
    fun `a signal ends all servers in the foreground`() = runBlocking {
        withTimeout(20.seconds) {
            val listeners = List(2) { server("test", "1.0").listen { port = 0 } }
            val serving = listeners.map { launch { it.run() } }
            delay(200.milliseconds)
            Signal.raise(Signal("TERM"))
            serving.joinAll()
        }
    }

    @Test
    fun `signals that the program handles are left to it`() = runBlocking {
        val handled = CompletableDeferred<Unit>()
        val signal = Signal("INT")
        val own = Signal.handle(signal) { handled.complete(Unit) }
        try {
            withTimeout(20.seconds) {
                val listener = server("test", "1.0").listen { port = 0 }
                val serving = launch { listener.run() }
                yield()
                Signal.raise(signal)
                handled.await()
                assertTrue(serving.isActive)
                Client.connect(listener.url).close()
                listener.close()
                serving.join()
            }
        } finally {
            Signal.handle(signal, own)
        }
    }

    @Test
    fun `a server closes after opens that failed together`() = runBlocking {
        ServerSocket(0).use { taken ->
            val server = server("test", "1.0")
            val opens =
                runCatching {
                    coroutineScope {
                        repeat(2) { launch { server.listen { port = taken.localPort } } }
                        yield()
                        // Both have failed when the first one resumes, and cancels the other.
                        Thread.sleep(500)
                    }
                }
            assertIs<TransportException>(opens.exceptionOrNull())
            withTimeout(20.seconds) { server.close() }
        }
    }

    @Test
    fun `a close while it opens has an effect`() = runBlocking {
        val server = server("test", "1.0")
        val handle = OpenHandle(server)
        val transport = """{"type": "http", "port": 0}"""
        runCatching {
            handle.opened {
                runBlocking { handle.close() }
                Port.open(objectOf("server" to server.handle, "transport" to json.parseToJsonElement(transport)), handle)
            }
        }
        withTimeout(20.seconds) { handle.end.await() }
        server.close()
    }

    @Test
    fun `a server closes in a coroutine that is cancelled`() = runBlocking {
        withTimeout(20.seconds) {
            val server = server("test", "1.0")
            val listener = server.listen { port = 0 }
            val using = launch(start = CoroutineStart.UNDISPATCHED) { runCatching { awaitCancellation() }.also { server.close() } }
            using.cancelAndJoin()
            assertFailsWith<ClosedException> { server.tool("late") { "" } }
            listener.join()
        }
    }

    @Test
    fun `a listener closes after the close of its server was cancelled`() = runBlocking {
        withTimeout(20.seconds) {
            val started = CompletableDeferred<Unit>()
            val server =
                server("test", "1.0", options = { drainDeadline = 1.seconds }) {
                    tool("waits") {
                        started.complete(Unit)
                        awaitCancellation()
                    }
                }
            val listener = server.listen { port = 0 }
            val client = Client.connect(listener.url)
            val call = launch { runCatching { client.callTool("waits") } }
            started.await()
            launch(start = CoroutineStart.UNDISPATCHED) { server.close() }.cancelAndJoin()
            listener.close()
            call.join()
            client.close()
        }
    }

    @Test
    fun `a closed server refuses features`() {
        val server = server("test", "1.0")
        runBlocking { server.close() }
        assertFailsWith<TrunklineException> { server.tool("late") { "" } }
    }

    @Test
    fun `invalid options are named in the names of this language`() {
        val error = assertFailsWith<InvalidArgumentException> { server("test", "1.0", options = { pageSize = -1 }) }
        assertEquals(true, "pageSize" in error.message.orEmpty(), error.message)
    }

    @Test
    fun `a dropped server is freed`() {
        val dropped = WeakReference(server("test", "1.0"))
        for (round in 1..1500) {
            System.gc()
            if (dropped.get() == null) break
            Thread.sleep(20)
        }
        assertNull(dropped.get())
    }
}
