package dev.trunkline

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class FeaturesTest {
    @Serializable
    class Weather(val city: String, val temperature: Double)

    private class Tenant(val name: String) : AbstractCoroutineContextElement(Key) {
        companion object Key : CoroutineContext.Key<Tenant>
    }

    private class Database : AutoCloseable {
        var isOpen = true

        override fun close() {
            isOpen = false
        }
    }

    private fun test(work: suspend CoroutineScope.() -> Unit) = runBlocking { withTimeout(60.seconds, work) }

    private suspend fun named(server: Server, name: String): List<String> =
        Client.connect(server, { info = Implementation(name, "1") }).use { client -> client.listTools().map { it.name } }

    @Test
    fun `visibility is decided for each caller`() = test {
        val shop = server("shop", "1") { tool("discount", options = { visible { clientInfo?.name == "staff" } }) { "cheaper" } }
        assertEquals(listOf("discount"), named(shop, "staff"))
        assertEquals(listOf(), named(shop, "guest"))
        Client.connect(shop).use { assertFailsWith<ProtocolException> { it.callTool("discount") } }
        shop.close()
    }

    @Test
    fun `a feature is changed while clients are connected`() = test {
        val shop = server("shop", "1")
        val price = shop.tool("price", "The price", options = { title = "Price" }) { "5" }
        Client.connect(shop).use { client ->
            price.update { description = "The price in euros" }
            val tool = client.listTools().single()
            assertEquals("The price in euros" to "Price", tool.description to tool.title)
            assertFailsWith<InvalidArgumentException> { price.update { outputSchema = JsonObject(mapOf("type" to JsonPrimitive(5))) } }
            assertEquals("5", client.callTool<String>("price"))
            price.disable()
            assertEquals(listOf(), client.listTools())
            price.enable()
            price.remove()
            assertEquals(listOf(), client.listTools())
            val late = assertFailsWith<InvalidArgumentException> { price.update { description = "late" } }
            assertTrue("was removed" in late.message.orEmpty(), late.message)
        }
        shop.close()
    }

    private class Row(val category: Category, val item: JsonObject, val change: ChangeKind, val names: suspend (Client) -> List<String>)

    private val rows =
        listOf(
            Row(Category.TOOLS, jsonObjectOf("name" to "row", "inputSchema" to mapOf("type" to "object")), ChangeKind.TOOLS) { client ->
                client.listTools().map { it.name }
            },
            Row(Category.RESOURCES, jsonObjectOf("name" to "row", "uri" to "table://row"), ChangeKind.RESOURCE_LIST) { client ->
                client.listResources().map { it.name }
            },
            Row(
                Category.RESOURCE_TEMPLATES,
                jsonObjectOf("name" to "row", "uriTemplate" to "table://{row}"),
                ChangeKind.RESOURCE_LIST,
            ) { client -> client.listResourceTemplates().map { it.name } },
            Row(Category.PROMPTS, jsonObjectOf("name" to "row"), ChangeKind.PROMPTS) { client -> client.listPrompts().map { it.name } },
        )

    private class OneItem(val item: JsonObject) : Provider {
        override suspend fun list(cursor: String?) = ProviderPage(listOf(item))

        override suspend fun get(params: JsonObject) = null
    }

    @Test
    fun `a provider extends the list of its category`() = test {
        assertEquals(Category.entries, rows.map { it.category })
        val filter = SubscriptionFilter(tools = true, prompts = true, resourceList = true)
        for (row in rows) {
            val table = server("table", "1") { provider(row.category, OneItem(row.item)) }
            Client.connect(table).use { client ->
                client.subscribe(filter).use { subscription ->
                    assertEquals(listOf("row"), row.names(client))
                    table.listChanged(row.category)
                    assertEquals(row.change, subscription.changes.first().kind)
                }
            }
            table.close()
        }
    }

    @Test
    fun `a feature that is removed while it changes is gone`() = test {
        val shop = server("shop", "1")
        repeat(500) {
            val price = shop.tool("price$it") { "5" }
            coroutineScope {
                launch(Dispatchers.IO) { runCatching { price.update { title = "Price" } } }
                launch(Dispatchers.IO) { price.remove() }
            }
        }
        assertEquals(listOf(), named(shop, "anyone"))
        shop.close()
    }

    @Test
    fun `a feature may change often`() = test {
        val shop = server("shop", "1")
        var runs = 0
        val price = shop.tool("price", options = { runs++ }) { "5" }
        repeat(100) { price.update { description = "at $it" } }
        assertEquals(1, runs)
        shop.close()
    }

    private class Unplugged(private val reason: Exception) : Transport {
        override suspend fun connect() = throw reason

        override suspend fun send(message: String) = Unit

        override suspend fun receive(): String? = null

        override suspend fun close() = Unit
    }

    @Test
    fun `what a callback has thrown is with the error that it leads to`() = test {
        val reason = IllegalStateException("no token today")
        val locked = server("locked", "1")
        val listener = locked.listen { port = 0 }
        val error =
            assertFailsWith<TrunklineException> { Client.connect(listener.url, options = { onAccessToken { throw reason } }) }
        assertEquals(listOf<Throwable>(reason), error.suppressedExceptions)
        locked.close()
        val unplugged = assertFailsWith<TransportException> { Client.connect(Unplugged(reason)) }
        assertEquals("transport_connect failed: no token today", unplugged.message)
        assertEquals(listOf<Throwable>(reason), unplugged.suppressedExceptions)
    }

    @Test
    fun `completions belong to the feature`() = test {
        val server =
            server("notes", "1") {
                prompt("packing", arguments = listOf(PromptArgument("city")), options = {
                    complete("city") { request -> listOf("Oslo", "Rome").filter { it.startsWith(request.value) } }
                }) { "Pack" }
            }
        Client.connect(server).use { client ->
            val completion = client.complete(PromptReference("packing"), CompleteArgument("city", "O")).completion
            assertEquals(listOf("Oslo"), completion.values)
        }
        server.close()
    }

    @Test
    fun `results are read as classes`() = test {
        val server =
            server("weather", "1") {
                tool<CallsTest.Name, Weather>("forecast") { Weather(it.name, 21.5) }
                tool<CallsTest.Name, List<Int>>("numbers") { listOf(1, 2) }
                tool("fails") { throw ToolException("no luck") }
            }
        val arguments = JsonObject(mapOf("name" to JsonPrimitive("Oslo")))
        Client.connect(server).use { client ->
            assertEquals(21.5, client.callTool<Weather>("forecast", arguments).temperature)
            assertEquals(listOf(1, 2), client.callTool<List<Int>>("numbers", arguments))
            assertEquals("[1,2]", client.callTool<String>("numbers", arguments))
            assertFailsWith<TransportException> { client.callTool<CallsTest.Greeting>("forecast", arguments) }
            assertEquals("no luck", assertFailsWith<ToolException> { client.callTool<String>("fails") }.message)
        }
        server.close()
    }

    @Test
    fun `elements of the context follow the call`() = test {
        val server =
            server("tenants", "1") {
                middleware("tools/call") { request -> withContext(Tenant("acme of ${tenant()}")) { request.next() } }
                tool("tenant") { tenant() }
            }
        Client.connect(server).use { client ->
            assertEquals("acme of me", withContext(Tenant("me")) { client.callTool<String>("tenant") })
        }
        server.close()
    }

    private suspend fun tenant(): String = currentCoroutineContext()[Tenant]?.name ?: "nobody"

    @Test
    fun `a lifespan is open while something uses the server`() = test {
        val opened = mutableListOf<Database>()
        val inner =
            server("inner", "1", lifespan = { Database().also { opened += it } }) { tool("open") { "${lifespan<Database>().isOpen}" } }
        val outer = server("outer", "1") { mount("in", inner) }
        repeat(2) {
            Client.connect(outer).use { first ->
                assertEquals("true", first.callTool<String>("in__open"))
                Client.connect(inner).use { second -> assertEquals("true", second.callTool<String>("open")) }
                assertTrue(opened.last().isOpen)
            }
            assertEquals(it + 1, opened.count { database -> !database.isOpen })
        }
        outer.close()
        inner.close()
    }

    @Test
    fun `the lifespan of an unmounted server ends with the use of its host, and stays closed`() = test {
        val opened = mutableListOf<Database>()
        val inner =
            server("inner", "1", lifespan = { Database().also { opened += it } }) { tool("open") { "${lifespan<Database>().isOpen}" } }
        val outer = server("outer", "1")
        val mount = outer.mount("in", inner)
        Client.connect(outer).use { client ->
            assertEquals("true", client.callTool<String>("in__open"))
            mount.remove()
            mount.remove()
            assertTrue(opened.single().isOpen)
        }
        assertTrue(!opened.single().isOpen)
        Client.connect(outer).use { assertEquals(1, opened.size) }
        outer.close()
        inner.close()
    }

    @Test
    fun `the lifespan of a mounted server opens with the first call`() = test {
        val opened = mutableListOf<Database>()
        val slow: suspend () -> Database = {
            delay(100)
            Database().also { opened += it }
        }
        val inner = server("inner", "1", lifespan = slow) { tool("open") { "${lifespan<Database>().isOpen}" } }
        val broken = server("broken", "1", lifespan = { error("no database") }) { tool("query") { "" } }
        val outer = server("outer", "1")
        Client.connect(outer).use { client ->
            outer.mount("in", inner)
            outer.mount("out", broken)
            assertEquals(listOf(), opened)
            assertEquals(listOf("true", "true"), List(2) { async { client.callTool<String>("in__open") } }.awaitAll())
            assertEquals(1, opened.size)
            assertFailsWith<ProtocolException> { client.callTool("out__query") }
        }
        assertTrue(!opened.single().isOpen)
        listOf(outer, inner, broken).forEach { it.close() }
    }

    @Test
    fun `a mounted server keeps its lifespan when other mounts fail or end`() = test {
        val inner = server("inner", "1", lifespan = { Database() }) { tool("open") { "${lifespan<Database>().isOpen}" } }
        val outer = server("outer", "1")
        val first = outer.mount("in", inner)
        assertFailsWith<InvalidArgumentException> { outer.mount("again", inner) }
        Client.connect(outer).use { assertEquals("true", it.callTool<String>("in__open")) }
        first.remove()
        outer.mount("in", inner)
        first.remove()
        Client.connect(outer).use { assertEquals("true", it.callTool<String>("in__open")) }
        outer.close()
        inner.close()
    }

    @Test
    fun `a lifespan that cannot open fails what opens it`() = test {
        var isBroken = true
        val server = server("broken", "1", lifespan = { if (isBroken) error("no database") else null })
        val opens: List<suspend () -> Unit> =
            listOf({ Client.connect(server).close() }, { server.listen { port = 0 }.close() }, { server.serveHttp { port = 0 } })
        for (open in opens) assertEquals("no database", assertFailsWith<IllegalStateException> { open() }.message)
        isBroken = false
        opens.take(2).forEach { it() }
        server.close()
    }

    @Test
    fun `a timeout in a lifespan does not cancel what opens it`() = test {
        val server = server("slow", "1", lifespan = { withTimeout(20.milliseconds) { awaitCancellation() } })
        val opens: List<suspend () -> Unit> = listOf({ Client.connect(server).close() }, { server.listen { port = 0 }.close() })
        for (open in opens) {
            val error = assertFailsWith<TrunklineException> { open() }
            assertIs<TimeoutCancellationException>(error.suppressed.single(), error.toString())
        }
        server.close()
    }

    @Test
    fun `a lifespan closes before what used it has closed`() = test {
        val opened = mutableListOf<Database>()
        val server = server("slow", "1", lifespan = { Database().also { opened += it } })
        val listener = server.listen { port = 0 }
        val client = Client.connect(server)
        listener.close()
        assertTrue(opened.single().isOpen)
        client.close()
        assertTrue(!opened.single().isOpen)
        Client.connect(server)
        server.close()
        assertEquals(listOf(false, false), opened.map { it.isOpen })
    }

    @Test
    fun `closing a server cancels the opening of its lifespan`() = test {
        val (opening, cancelled) = List(2) { CompletableDeferred<Unit>() }
        val hanging: suspend () -> Nothing = {
            opening.complete(Unit)
            try {
                awaitCancellation()
            } finally {
                cancelled.complete(Unit)
            }
        }
        val server = server("hanging", "1", lifespan = hanging)
        val listening = async { runCatching { server.listen { port = 0 } } }
        opening.await()
        server.close()
        assertTrue(listening.await().exceptionOrNull() is ClosedException)
        cancelled.await()
    }

    @Test
    fun `what opens although nobody needs it any more is closed`() = test {
        val (opening, mayOpen, closed) = List(3) { CompletableDeferred<Unit>() }
        val slow: suspend () -> AutoCloseable = {
            opening.complete(Unit)
            withContext(NonCancellable) { mayOpen.await() }
            AutoCloseable { closed.complete(Unit) }
        }
        val server = server("slow", "1", lifespan = slow)
        val listening = async { runCatching { server.listen { port = 0 } } }
        opening.await()
        server.close()
        assertTrue(listening.await().exceptionOrNull() is ClosedException)
        // Its cancellation has arrived by then.
        delay(50)
        mayOpen.complete(Unit)
        closed.await()
    }

    @Test
    fun `what opens as its listener is cancelled is closed`() = test {
        val other = server("other", "1")
        val client = Client.connect(other)
        val (blocked, released) = List(2) { CountDownLatch(1) }
        val closed = CompletableDeferred<Unit>()
        lateinit var listening: Deferred<*>
        val lifespan: suspend () -> AutoCloseable = {
            Port.core.close(client.handle, 0u)
            // The cancellation must not arrive before the lifespan is open.
            blocked.await()
            listening.cancel()
            Thread.sleep(500)
            AutoCloseable { closed.complete(Unit) }
        }
        val server = server("test", "1", lifespan = lifespan)
        launch(Dispatchers.Unconfined) {
            client.connection.end.await()
            blocked.countDown()
            // On the thread of the port.
            released.await(20, TimeUnit.SECONDS)
        }
        listening = async { server.listen { port = 0 } }
        try {
            withTimeout(20.seconds) { closed.await() }
        } finally {
            released.countDown()
        }
        server.close()
        other.close()
    }
}
