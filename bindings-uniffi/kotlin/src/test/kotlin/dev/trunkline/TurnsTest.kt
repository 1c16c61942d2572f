package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import java.util.concurrent.Executors
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.CoroutineContext
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Security G3: what one caller sends is not ahead of what others send later, if threads are scarce. */
class TurnsTest {
    private val own = Executors.newFixedThreadPool(2).asCoroutineDispatcher()
    private val started = LinkedBlockingQueue<String>()
    private val go = Semaphore(0)

    private fun turnsOn(dispatcher: CoroutineDispatcher) = Turns(dispatcher) { NAMES[it.ticket.toInt() / PER_CALLER] }

    private fun Turns.flood(caller: Int, count: Int) = repeat(count) { number ->
        val context = if (caller == NAMES.size) own else Context((caller * PER_CALLER + number).toULong())
        dispatch(context) {
            started += "${NAMES.getOrNull(caller)} $number"
            go.acquire()
        }
    }

    private fun taken(count: Int) = List(count) { checkNotNull(started.poll(20, SECONDS)) { "nothing else runs" } }

    @Test
    fun `callers take turns`() = own.use {
        val turns = turnsOn(own)
        turns.flood(ALICE, 50)
        assertEquals(listOf("alice 0", "alice 1"), taken(2).sorted())
        turns.flood(BOB, 3)
        turns.flood(NAMES.size, 3)
        Thread.sleep(100)
        val next = List(9) { go.release().let { taken(1)[0] } }
        assertEquals(mapOf("alice" to 3, "bob" to 3, "null" to 3), next.groupingBy { it.substringBefore(' ') }.eachCount())
        assertEquals(listOf("bob 0", "bob 1", "bob 2"), next.filter { it.startsWith("bob") })
        go.release(60)
        taken(45)
        // Nothing is left: later ones run at once.
        turns.flood(BOB, 1)
        taken(1)
    }

    @Test
    fun `callers are only looked up if threads are scarce`() = own.use {
        val lookups = AtomicInteger()
        val turns = Turns(own) { lookups.incrementAndGet() }
        go.release(1000)
        turns.flood(ALICE, 500)
        assertEquals(List(500) { "alice $it" }.toSet(), taken(500).toSet())
        assertEquals(0, lookups.get())
    }

    @Test
    fun `cancelled calls do not wait for a turn`() = runBlocking {
        val tasks = LinkedBlockingQueue<Runnable>()
        val occupied =
            object : CoroutineDispatcher() {
                override fun dispatch(context: CoroutineContext, block: Runnable) = tasks.put(block)
            }
        val turns = turnsOn(occupied)
        repeat(20_000) {
            val call = launch(turns + Context(0uL)) { error("its handler begins") }
            call.cancel()
        }
        // All but the last ones have ended.
        withTimeout(20.seconds) { while (coroutineContext.job.children.count() > 1000) delay(10.milliseconds) }
        assertTrue(tasks.size < 1000, "${tasks.size} tasks wait")
        val last = launch(turns + Context(1uL)) { started += "bob" }
        while (tasks.isNotEmpty()) tasks.take().run()
        withTimeout(20.seconds) { last.join() }
        assertEquals(listOf("bob"), taken(1))
    }

    @Test
    fun `a dispatcher that fails loses no block`() {
        val tasks = LinkedBlockingQueue<Runnable>()
        val failing =
            object : CoroutineDispatcher() {
                override fun dispatch(context: CoroutineContext, block: Runnable) {
                    if (tasks.size < 2) return tasks.put(block)
                    // Their tasks may run the new block before.
                    repeat(2) { tasks.take().run() }
                    error("it is closed")
                }
            }
        val turns = turnsOn(failing)
        go.release(3)
        turns.flood(ALICE, 2)
        Thread.sleep(100)
        turns.flood(BOB, 1)
        assertEquals(listOf("alice 0", "bob 0", "alice 1"), taken(3))
    }

    @Test
    fun `one principal does not hold up another`() = runBlocking {
        val server =
            server("test", "1.0", dispatcher = own) {
                tool("block") {
                    started += auth?.subject
                    go.acquire()
                }
                tool("now") { auth?.subject.orEmpty() }
            }
        val auth = AuthOptions().apply { resource = "http://127.0.0.1/mcp" }
        val listener = server.listen(auth, { Identity(subject = it.token) }) { port = 0 }
        val (alice, bob) = listOf("alice", "bob").map { Client.connect(listener.url, auth = OAuthOptions().apply { token = it }) }
        val calls = List(20) { async(Dispatchers.IO) { alice.callTool<String>("block") } }
        taken(2)
        val call = async(Dispatchers.IO) { bob.callTool<String>("now") }
        delay(200.milliseconds)
        // The blocks that were sent before its turn, of whatever the connection asks first.
        go.release(6)
        assertEquals("bob", withTimeout(20.seconds) { call.await() })
        assertTrue(calls.count { it.isActive } >= 10)
        go.release(20)
        withTimeout(20.seconds) { calls.forEach { it.await() } }
        for (client in listOf(alice, bob)) client.close()
        server.close()
        own.close()
    }

    private companion object {
        const val PER_CALLER = 1_000_000
        val NAMES = listOf("alice", "bob")
        const val ALICE = 0
        const val BOB = 1
    }
}
