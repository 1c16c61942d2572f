package dev.trunkline

import java.util.concurrent.CompletableFuture
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.test.Test
import kotlin.test.assertEquals

class ReceiversTest {
    /** An event behind a handler stays in the queue, where the thread that stands by finds it, whatever its size. */
    @Test
    fun `a handler that blocks holds up no event that does not fit into the buffer`() {
        val core = NativePort()
        val server = core.register("server", """{"info": {"name": "test", "version": "1"}}""")
        core.register("tool", """{"server": $server, "tool": {"name": "once", "inputSchema": {"type": "object"}}}""")
        val connection = core.open("""{"client": {}, "transport": {"type": "memory", "server": $server}}""")
        while (core.drain(1u, 10_000u).none { it.kind == EventKind.REPLY }) continue
        for (text in listOf("blocks", "a".repeat(LARGE))) {
            core.request(connection, """{"method": "tools/call", "params": {"name": "once", "arguments": {"text": "$text"}}}""")
        }
        // Both calls are pending when the first is received.
        Thread.sleep(200)
        val (released, arrived) = CountDownLatch(1) to CompletableFuture<Boolean>()
        val receivers =
            Receivers(core) { event, mayReturnHandler ->
                val isLarge = event.body.size > LARGE
                if (isLarge) arrived.complete(released.count > 0)
                if (event.kind == EventKind.CALL && !isLarge && mayReturnHandler()) ({ released.await() }) else null
            }
        receivers.start()
        try {
            assertEquals(true, arrived.get(20, SECONDS))
        } finally {
            released.countDown()
            core.close(NONE, 0uL)
            receivers.join(10_000)
            core.destroy()
        }
    }

    private companion object {
        const val LARGE = 100_000
    }
}
