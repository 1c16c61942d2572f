package dev.trunkline

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import java.util.concurrent.Semaphore
import java.util.concurrent.atomic.AtomicReference
import kotlin.coroutines.CoroutineContext
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.measureTime

/** Handlers that keep all threads of the dispatcher that they run on. */
class BlockedTest {
    private val threads = Runtime.getRuntime().availableProcessors()

    @Test
    fun `a server and its lifespan close while handlers block all threads`() = runBlocking {
        val (blocked, released) = CountDownLatch(threads) to CountDownLatch(1)
        val closed = CompletableDeferred<Unit>()
        val server =
            server("test", "1.0", lifespan = { AutoCloseable { closed.complete(Unit) } }) {
                tool("block") {
                    blocked.countDown()
                    released.await()
                }
            }
        val listener = server.listen { port = 0 }
        val client = Client.connect(listener.url)
        val calls = List(4 * threads) { launch { runCatching { client.callTool("block") } } }
        try {
            withTimeout(20.seconds) {
                while (blocked.count > 0) delay(10.milliseconds)
                val took = measureTime { listener.close(200.milliseconds) }
                assertTrue(took < 5.seconds, "closing took $took")
                closed.await()
            }
        } finally {
            released.countDown()
        }
        calls.forEach { it.join() }
        client.close()
        server.close()
    }

    @Test
    fun `handlers without a dispatcher`() = runBlocking {
        val server =
            server("test", "1.0", dispatcher = Dispatchers.Unconfined) {
                tool("echo") { "here" }
                tool("nested") { runBlocking { Client.connect(this@server).use { it.callTool<String>("echo") } } }
            }
        withTimeout(20.seconds) { Client.connect(server).use { assertEquals("here", it.callTool<String>("nested")) } }
        server.close()
    }

    @Test
    fun `a dispatcher that runs nothing fails the call`() = runBlocking {
        val closed = Executors.newSingleThreadExecutor().asCoroutineDispatcher().apply { close() }
        val failing =
            object : CoroutineDispatcher() {
                override fun dispatch(context: CoroutineContext, block: Runnable) = error("it fails")
            }
        for (dispatcher in listOf(closed, failing)) {
            val server = server("test", "1.0", dispatcher = dispatcher) { tool("echo") { "here" } }
            val result = withTimeout(20.seconds) { Client.connect(server).use { it.callTool("echo") } }
            assertTrue(result.isError)
            server.close()
        }
    }

    @Test
    fun `floods of progress let other calls run`() = runBlocking {
        val isOver = CompletableDeferred<Unit>()
        val started = CountDownLatch(threads)
        val server =
            server("test", "1.0") {
                tool("flood") {
                    started.countDown()
                    var number = 0.0
                    while (!isOver.isCompleted) progress(++number)
                    "done"
                }
                tool("echo") { "here" }
            }
        Client.connect(server).use { client ->
            val floods = List(4 * threads) { launch { client.callTool("flood") { onProgress = {} } } }
            try {
                withTimeout(20.seconds) {
                    while (started.count > 0) delay(10.milliseconds)
                    repeat(10) { assertEquals("here", client.callTool<String>("echo")) }
                }
            } finally {
                isOver.complete(Unit)
            }
            floods.forEach { it.join() }
        }
        server.close()
    }

    /** A handler that was short runs on the thread that receives its calls. If it is not short, another thread receives. */
    @Test
    fun `a short handler that blocks or waits holds up nothing`() = runBlocking {
        val kind = AtomicReference("")
        val threads = Channel<String>(Channel.UNLIMITED)
        val (began, released) = Semaphore(0) to Semaphore(0)
        val server =
            server("test", "1.0") {
                tool("once") {
                    threads.trySend(nameOfThread())
                    val given = kind.getAndSet("")
                    if (given.isNotEmpty()) began.release()
                    if (given == "blocks") released.acquire()
                    if (given == "waits") awaitCancellation()
                    if (given == "interrupts") Thread.currentThread().interrupt()
                    if (given == "fails") throw StackOverflowError("as thrown by the handler")
                    given
                }
            }
        Client.connect(server).use { client ->
            for (one in listOf("blocks", "waits", "interrupts", "fails", "blocks")) {
                withTimeout(20.seconds) {
                    do client.callTool("once") while (threads.receive() != "trunkline")
                }
                kind.set(one)
                val call = async { runCatching { client.callTool("once") } }
                withTimeout(20.seconds) {
                    while (!began.tryAcquire()) delay(1.milliseconds)
                    repeat(3) { assertFalse(client.callTool("once").isError) }
                }
                if (one == "waits") call.cancel()
                if (one == "blocks") released.release()
                if (one != "waits") assertEquals(one == "fails", withTimeout(20.seconds) { call.await() }.getOrThrow().isError)
                while (threads.tryReceive().isSuccess) continue
            }
        }
        server.close()
    }

    @Test
    fun `a dispatcher of the program runs short handlers as well`() = runBlocking {
        val names = ConcurrentHashMap.newKeySet<String>()
        val own = Executors.newSingleThreadExecutor { Thread(it, "own") }.asCoroutineDispatcher()
        val server = server("test", "1.0", dispatcher = own) { tool("once") { names.add(nameOfThread()) } }
        Client.connect(server).use { client -> repeat(200) { client.callTool("once") } }
        server.close()
        own.close()
        assertEquals(setOf("own"), names.toSet())
    }

    /** The debug mode of coroutines adds theirs. */
    private fun nameOfThread() = Thread.currentThread().name.substringBefore(" @")
}
