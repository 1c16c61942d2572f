package dev.trunkline

import dev.trunkline.jvm.Jvm
import dev.trunkline.jvm.JvmStream
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import java.lang.ref.WeakReference
import java.nio.file.Path
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNotEquals
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.nanoseconds
import kotlin.time.Duration.Companion.seconds

class CallsTest {
    @Serializable
    class Name(val name: String)

    @Serializable
    class Greeting(val text: String, val isPolite: Boolean = true)

    private fun test(features: Server.() -> Unit, options: ClientOptions.() -> Unit = {}, work: suspend (Client) -> Unit) = runBlocking {
        withTimeout(20.seconds) {
            val server = server("test", "1.0", features = features)
            Client.connect(server, options).use { work(it) }
            server.close()
        }
    }

    private fun arguments(text: String): JsonObject = Json.parseToJsonElement(text).jsonObject

    private fun textOf(result: CallToolResult): String = (result.content.first() as TextContent).text

    @Test
    fun `arguments and results are classes`() =
        test({ tool<Name, Greeting>("greet", "Greets") { Greeting("Hello, ${it.name}!") } }) { client ->
            val result = client.callTool("greet", arguments("""{"name": "Ada"}"""))
            assertEquals("""{"text":"Hello, Ada!","isPolite":true}""", result.structuredContent.toString())
            val tool = client.listTools().single()
            assertEquals(setOf("text", "isPolite"), tool.outputSchema?.getValue("properties")?.jsonObject?.keys)
        }

    @Test
    fun `a wrong argument is an error of the call`() = test({ tool<Name>("greet") { it.name } }) { client ->
        assertTrue(client.callTool("greet", arguments("""{"name": 5}""")).isError)
        val misspelled = client.callTool("greet", arguments("""{"name": "Ada", "tilte": "Dr."}"""))
        assertTrue(misspelled.isError && "tilte" in textOf(misspelled))
    }

    @Serializable
    class Stay(val nights: Int) {
        init {
            require(nights > 0) { "stay for a night" }
        }
    }

    @Test
    fun `a class may refuse its arguments`() = test({ tool<Stay>("book") { it.nights } }) { client ->
        assertEquals("Invalid arguments for tool book: stay for a night", textOf(client.callTool("book", arguments("""{"nights": 0}"""))))
    }

    @Serializable
    data class Numbers(val count: Long, val lists: Map<String, List<Int>>, val share: Double, val text: String = "")

    @Test
    fun `an integer may have a fraction`() = test({ tool<Numbers>("numbers") { it.toString() } }) { client ->
        val calls =
            mapOf(
                """{"count":5.0,"lists":{"a":[1e3,7]},"share":0.5,"text":"5.0"}""" to
                    Numbers(5, mapOf("a" to listOf(1000, 7)), 0.5, "5.0"),
                """{"count":9007199254740993,"lists":{"a":[-2.0]},"share":1e22}""" to
                    Numbers(9_007_199_254_740_993, mapOf("a" to listOf(-2)), 1e22),
            )
        for ((given, read) in calls) assertEquals(read.toString(), textOf(client.callTool("numbers", arguments(given))))
        assertTrue(client.callTool("numbers", arguments("""{"count":1e30,"lists":{},"share":0}""")).isError)
        assertEquals(listOf(2), CallToolResult(listOf(), arguments("""{"result":[2.0]}""")).read<List<Int>>())
    }

    @Test
    fun `errors of tools reach the caller and others do not`() = test({
        tool("fails") { throw ToolException("no luck") }
        tool("breaks") { error("a secret") }
        tool("refuses") { throw ProtocolException("not now", -32000) }
    }) { client ->
        assertEquals("no luck", textOf(client.callTool("fails").also { assertTrue(it.isError) }))
        val broken = client.callTool("breaks")
        assertTrue(broken.isError && "secret" !in broken.toString())
        assertEquals(-32000L, assertFailsWith<ProtocolException> { client.callTool("refuses") }.code)
    }

    @Test
    fun `cancelling the caller's coroutine cancels the handler's`() {
        val started = CompletableDeferred<Unit>()
        val ended = CompletableDeferred<Throwable>()
        test({
            tool("waits") {
                try {
                    started.complete(Unit)
                    awaitCancellation()
                } catch (cancellation: CancellationException) {
                    ended.complete(cancellation)
                    throw cancellation
                }
            }
        }) { client ->
            coroutineScope {
                val call = launch { client.callTool("waits") }
                started.await()
                call.cancelAndJoin()
            }
            assertIs<CallCancelled>(ended.await())
        }
    }

    @Test
    fun `a timeout of the coroutine cancels the request`() = test({ tool("waits") { awaitCancellation() } }) { client ->
        assertFailsWith<CancellationException> { withTimeout(50) { client.callTool("waits") } }
        assertFailsWith<RequestTimeoutException> { client.callTool("waits") { timeout = 50.milliseconds } }
    }

    @Test
    @Suppress("DEPRECATION")
    fun `the context follows into child coroutines`() = test({
        tool("context") { coroutineScope { launch { currentContext().logInfo("from a child") } }.let { currentContext().method } }
    }) { client -> assertEquals("tools/call", textOf(client.callTool("context"))) }

    @Test
    fun `work of a cancelled coroutine is done by the next`() = test({
        tool("once") {
            coroutineScope {
                val first = launch(start = CoroutineStart.UNDISPATCHED) { once<Int>("value") { awaitCancellation() } }
                val second = async(start = CoroutineStart.UNDISPATCHED) { once("value") { 7 } }
                first.cancel()
                second.await()
            }
        }
    }) { client -> assertEquals("7", textOf(client.callTool("once"))) }

    @Test
    fun `progress and the result are a flow`() = test({
        tool("counts") {
            progress(1.0, 2.0)
            delay(20)
            "done"
        }
    }) { client ->
        val reports = mutableListOf<Progress>()
        val events = client.callToolFlow("counts") { onProgress = reports::add }.toList()
        assertEquals(reports, listOf(assertIs<ToolEvent.Reported>(events.first()).progress))
        assertEquals("done", textOf(assertIs<ToolEvent.Finished>(events.last()).result))
    }

    @Test
    fun `a slow collector gets the last progress`() = test({
        tool("counts") {
            repeat(300) {
                progress(it + 1.0)
                delay(1)
            }
            "done"
        }
    }) { client ->
        val events = client.callToolFlow("counts").onEach { delay(10) }.toList()
        assertEquals(300.0, assertIs<ToolEvent.Reported>(events[events.size - 2]).progress.progress)
        assertIs<ToolEvent.Finished>(events.last())
    }

    @Test
    fun `a timeout waits for no report`() = test({
        tool("waits") {
            progress(1.0)
            awaitCancellation()
        }
    }) { client ->
        val end = CompletableFuture<Unit>()
        val options: RequestOptions.() -> Unit = {
            timeout = 300.milliseconds
            onProgress = { end.get() }
        }
        try {
            assertFailsWith<RequestTimeoutException> { withTimeout(20.seconds) { client.callTool("waits", null, options) } }
        } finally {
            end.complete(Unit)
        }
    }

    @Test
    @Suppress("DEPRECATION")
    fun `an error in a callback holds up nobody`() {
        val seen = CompletableDeferred<Unit>()
        val server =
            server("test", "1.0", lifespan = { AutoCloseable { TODO() } }) {
                tool("speaks") {
                    progress(1.0)
                    repeat(2) { logInfo("message $it") }
                    "done"
                }
            }
        val options: ClientOptions.() -> Unit = {
            logLevel = LoggingLevel.INFO
            onLog { if (it.data == JsonPrimitive("message 0")) TODO() else seen.complete(Unit) }
        }
        runBlocking {
            withTimeout(20.seconds) {
                Client.connect(server, options).use { client ->
                    assertEquals("done", textOf(client.callTool("speaks") { onProgress = { TODO() } }))
                    seen.await()
                }
                server.close()
            }
        }
    }

    @Test
    fun `handlers of the client answer the server`() = test(
        { tool("asks") { elicit<Name>("Who?").content?.name ?: "nobody" } },
        { onElicit { ElicitResult(ElicitAction.ACCEPT, JsonObject(mapOf("name" to JsonPrimitive("Ada")))) } },
    ) { client -> assertEquals("Ada", textOf(client.callTool("asks"))) }

    @Serializable
    class Order(val drink: String, val sugar: Int? = null)

    @Test
    fun `a form may have optional fields`() = test(
        { tool("orders") { elicit<Order>("What?").content?.let { "${it.drink} with ${it.sugar}" } ?: "nothing" } },
        {
            onElicit {
                assertEquals("integer", it.requestedSchema.properties.getValue("sugar").kind)
                ElicitResult(ElicitAction.ACCEPT, arguments("""{"drink": "tea"}"""))
            }
        },
    ) { client -> assertEquals("tea with null", textOf(client.callTool("orders"))) }

    @Test
    fun `decline and cancel differ`() {
        for ((action, seen) in listOf(ElicitAction.DECLINE to Elicited.Decline, ElicitAction.CANCEL to Elicited.Cancel)) {
            test(
                { tool("orders") { elicit<Order>("What?").toString() } },
                { onElicit { ElicitResult(action) } },
            ) { client -> assertEquals(seen.toString(), textOf(client.callTool("orders"))) }
        }
    }

    private class BrokenException : RuntimeException() {
        override val message: String get() = error("it fails, too")
    }

    @Test
    fun `an exception that fails is an error of the call`() = test({ tool("fails") { throw BrokenException() } }) { client ->
        assertTrue(client.callTool("fails").isError)
    }

    @Test
    fun `a failure that cannot be sent is an error of the call`() {
        val deep = (1..300).fold<Int, JsonElement>(JsonPrimitive(1)) { inner, _ -> JsonArray(listOf(inner)) }
        test({ tool("fails") { throw ProtocolException("no", data = deep) } }) { client ->
            assertTrue(client.callTool("fails").isError)
        }
    }

    @Test
    fun `an unpaired surrogate becomes a replacement character`() {
        val cut = "\uD83D\uDE00 \uD83D"
        test({
            tool("text") { cut }
            tool("fails") { throw ToolException(cut) }
            tool("progress") {
                progress(1.0, message = cut)
                cut
            }
            tool<Name>("echo", cut) { it.name }
        }) { client ->
            val expected = "\uD83D\uDE00 \uFFFD"
            for (tool in listOf("text", "fails", "progress")) assertEquals(expected, textOf(client.callTool(tool)), tool)
            assertEquals(expected, textOf(client.callTool("echo", JsonObject(mapOf("name" to JsonPrimitive(cut))))))
            assertEquals(expected, client.listTools().single { it.name == "echo" }.description)
        }
    }

    @Test
    fun `a result may be null`() = test({
        tool<Name, Greeting?>("greet") { given -> Greeting("Hello, Ada!").takeIf { given.name == "Ada" } }
    }) { client ->
        assertEquals("Hello, Ada!", client.callTool<Greeting?>("greet", arguments("""{"name": "Ada"}"""))?.text)
        assertNull(client.callTool<Greeting?>("greet", arguments("""{"name": "Alan"}""")))
    }

    @Serializable
    class Settings(val size: Int = 7)

    @Test
    fun `a result without structured content is no class`() = test({ tool("unstructured") { Settings(99) } }) { client ->
        val missing = assertFailsWith<TransportException> { client.callTool<Settings>("unstructured") }
        assertTrue("it is missing" in missing.message.orEmpty())
    }

    @Test
    fun `a whole result has no schema`() = test({
        tool<Name, CallToolResult>("greet") { CallToolResult(listOf(TextContent(text = "Hello, ${it.name}!"))) }
    }) { client ->
        assertNull(client.listTools().single().outputSchema)
        assertEquals("Hello, Ada!", textOf(client.callTool("greet", arguments("""{"name": "Ada"}"""))))
    }

    /** A server whose results do not fit. */
    private class Misfit : Transport {
        private val replies = Channel<String>(Channel.UNLIMITED)

        override suspend fun connect() = Unit

        override suspend fun send(message: String) {
            val request = Json.parseToJsonElement(message).jsonObject
            val opened = """{"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "misfit", "version": "1"}}"""
            val result = if (request["method"] == JsonPrimitive("initialize")) opened else """{"content": "yes"}"""
            request["id"]?.let { replies.send("""{"jsonrpc": "2.0", "id": $it, "result": $result}""") }
        }

        override suspend fun receive(): String = replies.receive()

        override suspend fun close() = Unit
    }

    @Test
    fun `what a peer sends must fit`() = runBlocking {
        withTimeout(20.seconds) {
            Client.connect(Misfit()) { revision = RevisionChoice.LEGACY }.use { client ->
                val wrong = assertFailsWith<TransportException> { client.callTool("wrong") }
                assertTrue("`content` must be an array" in wrong.message.orEmpty(), wrong.message)
            }
        }
    }

    @Test
    fun `no time is too long`() = test({ tool("waits") { "done" } }) { client ->
        assertEquals("done", textOf(client.callTool("waits") { timeout = Duration.INFINITE }))
        assertEquals(listOf(Long.MAX_VALUE, 2L), listOf(Duration.INFINITE, 1_000_001.nanoseconds).map { it.wholeMilliseconds() })
    }

    @Test
    fun `what cannot be written is named with its path`() {
        val error = assertFailsWith<IllegalArgumentException> { jsonObjectOf("a" to listOf(1, mapOf("b" to Double.NaN))) }
        assertEquals("\$.a[1].b: NaN has no form in JSON", error.message)
        // A path is an Iterable of itself.
        assertFailsWith<IllegalArgumentException> { jsonObjectOf("a" to Path.of("a")) }
        val generic = assertFailsWith<IllegalArgumentException> { jsonObjectOf("a" to (1 to 2)) }
        assertEquals("\$.a: a kotlin.Pair has no form in JSON: it is not @Serializable, or has type parameters", generic.message)
    }

    @Test
    fun `only resources return bytes`() = test({
        resource("file", "file:///a") { byteArrayOf(1, 2) }
        tool("file") { byteArrayOf(1, 2) }
        prompt("file") { byteArrayOf(1, 2) }
    }) { client ->
        assertEquals("AQI=", (client.readResource("file:///a").contents.single() as BlobResourceContents).blob)
        assertTrue(client.callTool("file").isError)
        assertFailsWith<ProtocolException> { client.getPrompt("file") }
    }

    @Test
    fun `each string of a list is a message`() = test({
        prompt("two") { listOf("one", "two") }
        prompt("none") { listOf<PromptMessage>() }
    }) { client ->
        assertEquals(listOf("one", "two"), client.getPrompt("two").messages.map { (it.content as TextContent).text })
        assertEquals(listOf(), client.getPrompt("none").messages)
    }

    @Test
    fun `middleware wraps calls`() = test({
        middleware("tools/call") { request -> JsonObject(request.next() + ("_meta" to arguments("""{"seen": true}"""))) }
        tool("plain") { "text" }
    }) { client -> assertEquals("true", client.callTool("plain").meta?.get("seen").toString()) }

    @Test
    fun `resources prompts and completions`() = test({
        resource("note", "note://{id}") { "Note ${it["id"]}" }
        prompt("hello", arguments = listOf(PromptArgument("who", required = true))) { "Hello, ${it["who"]}" }
        completion(PromptReference("hello"), "who") { request -> listOf("Ada", "Alan").filter { it.startsWith(request.value) } }
    }) { client ->
        assertEquals("Note 7", (client.readResource("note://7").contents.single() as TextResourceContents).text)
        assertEquals("Hello, Ada", (client.getPrompt("hello", mapOf("who" to "Ada")).messages.single().content as TextContent).text)
        assertEquals(listOf("Alan"), client.complete(PromptReference("hello"), CompleteArgument("who", "Al")).completion.values)
    }

    @Test
    fun `subscriptions are flows`() {
        lateinit var updated: () -> Unit
        test({
            resource("note", "note://1") { "text" }
            updated = { resourceUpdated("note://1") }
        }) { client ->
            client.subscribe(SubscriptionFilter(resources = listOf("note://1"))).use { subscription ->
                updated()
                assertEquals("note://1", subscription.changes.first().uri)
            }
        }
    }

    @Test
    fun `requests that have ended keep no context`() = test({}) { client ->
        val tags =
            List(200) {
                val tag = CoroutineName("of $it")
                withContext(tag) { client.subscribe(SubscriptionFilter(tools = true)).close() }
                WeakReference(tag)
            }
        // Threads keep that of their last coroutine.
        while (tags.count { it.get() != null } > 5) {
            System.gc()
            delay(50)
        }
    }

    @Test
    fun `a change that arrives as its wait is cancelled is kept`() {
        lateinit var updated: () -> Unit
        test({
            resource("note", "note://1") { "text" }
            updated = { resourceUpdated("note://1") }
        }) { client ->
            client.subscribe(SubscriptionFilter(resources = listOf("note://1"))).use { subscription ->
                coroutineScope {
                    val waiting = launch { subscription.changes.first() }
                    delay(100)
                    updated()
                    // The change has arrived, but the coroutine has not resumed.
                    Thread.sleep(500)
                    waiting.cancelAndJoin()
                }
                assertEquals("note://1", withTimeout(20.seconds) { subscription.changes.first() }.uri)
            }
        }
    }

    @Test
    fun `a change that arrives as its future is cancelled is for the next one`() {
        lateinit var updated: () -> Unit
        test({
            resource("note", "note://1") { "text" }
            updated = { resourceUpdated("note://1") }
        }) { client ->
            val filter = objectOf("resources" to listOf("note://1"))
            val stream = JvmStream(Jvm { IllegalStateException() }, client.connection.stream("subscribe", filter, null))
            lateinit var waiting: CompletableFuture<Any?>
            waiting =
                stream.next {
                    waiting.cancel(true)
                    it
                }
            updated()
            assertFailsWith<CancellationException> { waiting.get(20, TimeUnit.SECONDS) }
            assertEquals("note://1", assertIs<Map<*, *>>(stream.next { it }.get(20, TimeUnit.SECONDS))["uri"])
            stream.close()
        }
    }

    @Test
    fun `the result of a cancelled future is dropped`() = runBlocking {
        val gate = CompletableDeferred<Unit>()
        val dropped = CompletableDeferred<String>()
        val future =
            Jvm { IllegalStateException() }.future(dropped::complete) {
                withContext(NonCancellable) { gate.await() }
                "open"
            }
        future.cancel(true)
        gate.complete(Unit)
        assertEquals("open", withTimeout(20.seconds) { dropped.await() })
    }

    @Test
    fun `a coroutine without a dispatcher may block`() {
        val server = server("test", "1.0") { tool("echo") { "here" } }
        val request = HttpRequest("GET", "/mcp", listOf("host" to "127.0.0.1"))
        // As in `suspend fun main`.
        val main: suspend () -> Unit = {
            val listener = server.listen { port = 0 }
            assertNotThePort()
            Client.connect(listener.url).use { client ->
                assertNotThePort()
                assertEquals("here", runBlocking { withTimeout(20.seconds) { client.callTool<String>("echo") } })
            }
            assertNotThePort()
            server.endpoint().handle(request).body.collect { assertNotThePort() }
            listener.close()
            assertNotThePort()
        }
        for (context in listOf(EmptyCoroutineContext, Dispatchers.Unconfined)) {
            val ended = CompletableFuture<Unit>()
            main.startCoroutine(Continuation(context) { it.fold(ended::complete, ended::completeExceptionally) })
            ended.get(20, TimeUnit.SECONDS)
        }
        runBlocking { server.close() }
    }

    private fun assertNotThePort() = assertNotEquals("trunkline", Thread.currentThread().name)

    @Test
    fun `notifications end with the connection`() = test({}) { client ->
        coroutineScope {
            launch(start = CoroutineStart.UNDISPATCHED) { client.notifications.collect {} }
            client.close()
        }
        assertEquals(listOf(), client.notifications.toList())
    }

    private fun Client.receive(bytes: Int) = connection.receiveNotification("test", arguments("""{"bytes": $bytes}"""), bytes)

    private fun bytesOf(params: JsonObject): Int = params.getValue("bytes").toString().toInt()

    private val flood = List(5) { 1_000_000 } + 1
    private val kept = List(4) { 1_000_000 } + 1

    @Test
    fun `a slow handler of notifications loses the newest`() {
        val (started, released) = CompletableDeferred<Unit>() to CompletableDeferred<Unit>()
        val handled = Channel<Int>(Channel.UNLIMITED)
        val handler: (JsonObject) -> Unit = {
            started.complete(Unit)
            runBlocking { released.await() }
            handled.trySend(bytesOf(it))
        }
        test({}, { notificationHandlers["test"] = handler }) { client ->
            client.receive(9_000_000)
            started.await()
            flood.forEach { client.receive(it) }
            released.complete(Unit)
            assertEquals(listOf(9_000_000) + kept, List(6) { handled.receive() })
            // There is room again.
            client.receive(9_000_000)
            assertEquals(9_000_000, handled.receive())
        }
    }

    @Test
    fun `a slow collector of notifications loses the newest, and holds up no handler`() {
        val (handled, collected) = Channel<Int>(Channel.UNLIMITED) to Channel<Int>(Channel.UNLIMITED)
        val released = CompletableDeferred<Unit>()
        test({}, { notificationHandlers["test"] = { handled.trySend(bytesOf(it)) } }) { client ->
            coroutineScope {
                val collecting =
                    launch(start = CoroutineStart.UNDISPATCHED) {
                        client.notifications.collect {
                            collected.send(bytesOf(it.params))
                            released.await()
                        }
                    }
                client.receive(9_000_000)
                assertEquals(9_000_000, collected.receive())
                assertEquals(9_000_000, handled.receive())
                for (bytes in flood) {
                    client.receive(bytes)
                    assertEquals(bytes, handled.receive())
                }
                released.complete(Unit)
                assertEquals(kept, List(5) { collected.receive() })
                collecting.cancel()
            }
        }
    }

    @Test
    fun `many calls at once`() = test({ tool<Name>("echo") { it.name } }) { client ->
        coroutineScope {
            repeat(500) { number ->
                launch { assertEquals("$number", textOf(client.callTool("echo", arguments("""{"name": "$number"}""")))) }
            }
        }
    }
}
