package dev.trunkline.ktor

import dev.trunkline.Context
import dev.trunkline.Server
import dev.trunkline.server
import io.ktor.http.HttpStatusCode
import io.ktor.http.content.OutgoingContent
import io.ktor.http.content.compressed
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.application.PipelineCall
import io.ktor.server.application.call
import io.ktor.server.cio.CIO
import io.ktor.server.engine.EmbeddedServer
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.response.ApplicationSendPipeline
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.route
import io.ktor.server.routing.routing
import io.ktor.util.GZipEncoder
import io.ktor.util.pipeline.PipelineContext
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.DynamicTest.dynamicTest
import org.junit.jupiter.api.TestFactory
import java.io.IOException
import java.io.InputStream
import java.net.InetSocketAddress
import java.net.Socket
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse
import java.net.http.HttpResponse.BodyHandlers
import java.nio.file.Path
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executors
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.io.path.readText
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertNotNull
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Servers in Ktor, and clients and plugins that are difficult: `tests/mounts.json`. */
class MountsTest {
    @Serializable
    class Given(val writeTimeoutMs: Long? = null, val json: Boolean? = null)

    @Serializable
    class Row(
        val name: String,
        val play: String,
        val tool: String,
        val options: Given,
        val seen: JsonObject,
        val lacks: Map<String, String> = emptyMap(),
    )

    @Serializable
    class Text(val text: String)

    private val rows = Json.decodeFromString<List<Row>>(Path.of("../../tests/mounts.json").readText())
    private val engines = mapOf("Ktor with CIO" to ::cio, "Ktor with Netty" to ::netty)
    private val plays: Map<String, Site.(Row) -> JsonObject> =
        mapOf(
            "stuck reader" to Site::stuckReader,
            "stuck reader over HTTP/2" to Site::stuckReaderOverHttp2,
            "slow reader" to Site::slowReader,
            "slow body" to Site::slowBody,
            "body beyond the limit" to Site::bodyBeyondTheLimit,
            "body that never comes" to Site::bodyThatNeverComes,
            "gone within its body" to Site::goneWithinItsBody,
            "gone" to Site::gone,
            "legacy client gone" to Site::legacyClientGone,
            "deadline" to Site::deadline,
            "shutdown" to Site::shutdown,
            "compression" to Site::compression,
            "prefix" to Site::prefix,
            "HTTP/2" to Site::http2,
        )

    /** The rows are played at the same time: most of them wait. */
    @TestFactory
    fun `a server in a framework`(): List<DynamicTest> {
        val threads = Executors.newFixedThreadPool(4) { Thread(it).apply { isDaemon = true } }
        return engines.flatMap { (framework, start) ->
            rows.map { row ->
                val reason = row.lacks[framework]
                val played = threads.submit { if (reason == null) play(row, start) }
                dynamicTest("$framework: ${row.name}") {
                    assumeTrue(reason == null) { reason }
                    played.get()
                }
            }
        }
    }

    private fun play(row: Row, start: (Application.() -> Unit) -> EmbeddedServer<*, *>): Unit =
        Site(row, start).use { assertEquals(row.seen, plays.getValue(row.play)(it, row)) }

    /** Its connection stays, because the encoder of CIO waits without a deadline. */
    @Test
    fun `a stuck reader of a stream ends its call under CIO`() {
        val row = rows.single { it.tool == "fills" }
        Site(row, ::cio).use { assertEquals("cancelled", it.callOfStuckReader(row.tool)) }
    }
}

private const val PATH = "/api/v1/mcp"

/** More than the buffers of sockets hold. */
private const val LARGE_BYTES = 8_000_000
private const val TIMEOUT_SECONDS = 30L

private fun cio(module: Application.() -> Unit): EmbeddedServer<*, *> = embeddedServer(CIO, 0, "127.0.0.1", module = module)

private fun netty(module: Application.() -> Unit): EmbeddedServer<*, *> = embeddedServer(
    Netty,
    configure = {
        connector {
            host = "127.0.0.1"
            port = 0
        }
        enableH2c = true
    },
    module = module,
)

/** A mounted server, with the plugins of the case. */
private class Site(row: MountsTest.Row, start: (Application.() -> Unit) -> EmbeddedServer<*, *>) : AutoCloseable {
    private val started = CompletableDeferred<Unit>()
    private val released = CompletableDeferred<Unit>()
    private val cancelled = CompletableDeferred<Unit>()
    private val begun = LinkedBlockingQueue<ApplicationCall>()
    private val ended = LinkedBlockingQueue<ApplicationCall>()

    /** After `Connection: close`, CIO notices a client that has disconnected at the next write. */
    private val server: Server = server("mounted", "1", options = { keepAlive = 200.milliseconds }) {
        tool("waits", "") { waits(this) }
        tool("large", "") {
            progress(1.0)
            "x".repeat(LARGE_BYTES)
        }
        tool("fills", "") {
            // CIO has buffers of its own.
            progress(1.0, 2.0, "x".repeat(LARGE_BYTES * 3 / 2))
            waits(this)
        }
        tool<MountsTest.Text>("echo", "") { it.text }
    }
    private lateinit var endpoint: dev.trunkline.HttpEndpoint
    private val web = start {
        intercept(ApplicationCallPipeline.Setup) {
            begun += call
            try {
                proceed()
            } finally {
                ended += call
            }
        }
        if (row.play == "deadline") intercept(ApplicationCallPipeline.Plugins) { untilStarted(row.tool) }
        if (row.play == "compression") compressing()
        routing {
            get("/") { call.respondText("a page") }
            route("/api/v1/mcp") {
                endpoint =
                    mcp(server) {
                        json = row.options.json
                        writeTimeout = row.options.writeTimeoutMs?.milliseconds
                    }
            }
        }
    }.start()
    private val port = runBlocking { web.engine.resolvedConnectors().single().port }
    private val http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()

    private suspend fun waits(context: Context): String {
        context.progress(1.0)
        started.complete(Unit)
        try {
            released.await()
        } catch (cancellation: CancellationException) {
            cancelled.complete(Unit)
            throw cancellation
        }
        return "released"
    }

    /** As a timeout of middleware, but not by the clock. */
    private suspend fun PipelineContext<Unit, PipelineCall>.untilStarted(tool: String) {
        if (call.request.headers["mcp-name"] != tool) return
        val isLate = coroutineScope {
            val answering = launch { proceed() }
            val watching = launch {
                started.await()
                answering.cancel()
            }
            answering.join()
            watching.cancel()
            answering.isCancelled
        }
        if (isLate) call.respond(HttpStatusCode.GatewayTimeout)
    }

    /** As the plugin `Compression`, which is another artifact. */
    private fun Application.compressing() = sendPipeline.intercept(ApplicationSendPipeline.ContentEncoding) { content ->
        if ("no-transform" in call.response.headers["cache-control"].orEmpty()) return@intercept
        (content as OutgoingContent).compressed(GZipEncoder)?.let { proceedWith(it) }
    }

    override fun close() {
        released.complete(Unit)
        runBlocking {
            server.close(0.seconds)
            web.stopSuspend(0, 1000)
        }
    }

    private fun happened(event: CompletableDeferred<Unit>): Unit = runBlocking { withTimeout(TIMEOUT_SECONDS.seconds) { event.await() } }

    private fun LinkedBlockingQueue<ApplicationCall>.next(): ApplicationCall = assertNotNull(poll(TIMEOUT_SECONDS, SECONDS), "it is late")

    private fun request(path: String, headers: Map<String, String>): HttpRequest.Builder {
        val request = HttpRequest.newBuilder(URI("http://127.0.0.1:$port$path")).timeout(Duration.ofSeconds(TIMEOUT_SECONDS))
        for ((name, value) in headers) request.header(name, value)
        return request
    }

    private fun posting(tool: String, path: String = PATH): HttpRequest =
        request(path, headers(tool)).POST(BodyPublishers.ofString(message(tool))).build()

    private fun post(tool: String, path: String = PATH, client: HttpClient = http): HttpResponse<String> =
        client.send(posting(tool, path), BodyHandlers.ofString())

    private fun others(client: HttpClient = http): String {
        val response = post("echo", client = client)
        return if (response.statusCode() == 200 && "echoed" in response.body()) "served" else response.body()
    }

    /** A connection on which a call was sent, or only the start of its body. */
    private fun raw(
        tool: String,
        send: Int? = null,
        length: Int? = null,
        headers: Map<String, String> = headers(tool),
    ): Pair<Socket, String> {
        val socket = Socket()
        // A large buffer takes long until it has room again.
        socket.receiveBufferSize = 256 shl 10
        socket.soTimeout = TIMEOUT_SECONDS.toInt() * 1000
        socket.connect(InetSocketAddress("127.0.0.1", port))
        val body = message(tool, "mcp-session-id" in headers)
        val lines = mapOf("host" to "127.0.0.1", "content-length" to "${length ?: body.length}", "connection" to "close") + headers
        val head = lines.entries.joinToString("") { (name, value) -> "$name: $value\r\n" }
        socket.getOutputStream().write("POST $PATH HTTP/1.1\r\n$head\r\n${body.take(send ?: body.length)}".toByteArray())
        return socket to body.drop(send ?: body.length)
    }

    private fun session(): Map<String, String> {
        val params = buildJsonObject {
            put("protocolVersion", "2025-11-25")
            putJsonObject("capabilities") {}
            putJsonObject("clientInfo") {
                put("name", "legacy")
                put("version", "1")
            }
        }
        val opened = send(BOTH, rpc("initialize", params, 1))
        begun.next()
        ended.next()
        return mapOf("mcp-session-id" to opened.headers().firstValue("mcp-session-id").get(), "mcp-protocol-version" to "2025-11-25")
    }

    private fun send(headers: Map<String, String>, body: String): HttpResponse<String> =
        http.send(request(PATH, headers).POST(BodyPublishers.ofString(body)).build(), BodyHandlers.ofString())

    // The plays, which return what a client sees.

    fun stuckReader(row: MountsTest.Row): JsonObject {
        val (stuck) = raw(row.tool)
        ended.next()
        val others = others()
        val cut = readAll(stuck.getInputStream())
        assertTrue(cut.startsWith("HTTP/1.1 200 ") && cut.length < LARGE_BYTES, "${cut.length} ${cut.take(100)}")
        val seen = mapOf("response" to "given up", "others" to others)
        if (row.tool != "fills") return seen(seen)
        happened(cancelled)
        return seen(seen + ("call" to "cancelled"))
    }

    fun callOfStuckReader(tool: String): String = raw(tool).first.use {
        happened(cancelled)
        assertEquals("served", others())
        "cancelled"
    }

    fun stuckReaderOverHttp2(row: MountsTest.Row): JsonObject {
        val client = http2Client()
        val stuck = client.send(posting(row.tool), BodyHandlers.ofInputStream())
        ended.next()
        val others = others(client)
        val cut = readAll(stuck.body()).length
        assertTrue(cut < LARGE_BYTES, "$cut bytes")
        return seen(mapOf("response" to "given up", "others" to others))
    }

    /** A client that has spoken HTTP/2 before. Its windows are smaller than a large response. */
    private fun http2Client(): HttpClient {
        System.setProperty("jdk.httpclient.windowsize", "65536")
        val client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build()
        // The first request offers the upgrade.
        val versions = List(2) { client.send(request("/", emptyMap()).build(), BodyHandlers.discarding()).version() }
        assertEquals(HttpClient.Version.HTTP_2, versions.last())
        repeat(2) {
            begun.next()
            ended.next()
        }
        return client
    }

    fun slowReader(row: MountsTest.Row): JsonObject {
        val (slow) = raw(row.tool)
        var read = 0
        var last = ""
        val buffer = ByteArray(65_536)
        while (true) {
            val more = slow.getInputStream().readNBytes(buffer, 0, buffer.size)
            if (more == 0) break
            read += more
            last = (last + String(buffer, 0, more, Charsets.ISO_8859_1)).takeLast(5)
            Thread.sleep(40)
        }
        return seen(mapOf("response" to if (read > LARGE_BYTES && last == "0\r\n\r\n") "complete" else "cut after $read bytes"))
    }

    fun slowBody(row: MountsTest.Row): JsonObject {
        val (slow, rest) = raw(row.tool, send = 20)
        begun.next()
        val others = others()
        slow.getOutputStream().write(rest.toByteArray())
        return seen(mapOf("response" to outcome(readAll(slow.getInputStream()), "echoed", "complete"), "others" to others))
    }

    fun bodyBeyondTheLimit(row: MountsTest.Row): JsonObject {
        val (large) = raw(row.tool, send = 0, length = 2 * LARGE_BYTES)
        CompletableFuture.runAsync { large.getOutputStream().write(ByteArray(LARGE_BYTES) { ' '.code.toByte() }) }
        val line = large.getInputStream().bufferedReader().readLine()
        large.close()
        return seen(mapOf("status" to line.split(' ')[1].toInt(), "started" to started.isCompleted))
    }

    fun bodyThatNeverComes(row: MountsTest.Row): JsonObject {
        val (waiting) = raw(row.tool, send = 0, length = 10, headers = headers(row.tool) + ("host" to "evil.example"))
        begun.next()
        val line = waiting.getInputStream().bufferedReader().readLine()
        // A closing server would wait for open requests.
        runBlocking { withTimeout(TIMEOUT_SECONDS.seconds) { endpoint.close(600.seconds) } }
        waiting.close()
        return seen(mapOf("status" to line.split(' ')[1].toInt(), "open" to begun.size))
    }

    fun goneWithinItsBody(row: MountsTest.Row): JsonObject {
        raw(row.tool, send = 20).first.use { begun.next() }
        ended.next()
        // A closing server would wait for open requests.
        runBlocking { withTimeout(TIMEOUT_SECONDS.seconds) { endpoint.close(600.seconds) } }
        return seen(mapOf("started" to started.isCompleted, "open" to begun.size))
    }

    /** HTTP-24 */
    fun gone(row: MountsTest.Row): JsonObject {
        raw(row.tool).first.use { happened(started) }
        happened(cancelled)
        return seen(mapOf("call" to "cancelled"))
    }

    /** HTTP-22 */
    fun legacyClientGone(row: MountsTest.Row): JsonObject {
        val session = session()
        raw(row.tool, headers = BOTH + session).first.use { happened(started) }
        ended.next()
        assertEquals("served", others())
        assertFalse(cancelled.isCompleted)
        val told = send(BOTH + session, rpc("notifications/cancelled", buildJsonObject { put("requestId", 2) }))
        assertEquals(202, told.statusCode())
        happened(cancelled)
        return seen(mapOf("call" to "cancelled by its message"))
    }

    fun deadline(row: MountsTest.Row): JsonObject {
        val status = post(row.tool).statusCode()
        happened(cancelled)
        return seen(mapOf("status" to status, "call" to "cancelled", "others" to others()))
    }

    fun shutdown(row: MountsTest.Row): JsonObject {
        val stream = http.send(request(PATH, BOTH + session()).build(), BodyHandlers.ofInputStream())
        val called = http.sendAsync(posting(row.tool), BodyHandlers.ofString())
        happened(started)
        val closing = CompletableFuture.runAsync { runBlocking { endpoint.close(600.seconds) } }
        // The stream ends while the call still runs.
        stream.body().readAllBytes()
        val meanwhile = post("echo")
        released.complete(Unit)
        val call = outcome(called.get(TIMEOUT_SECONDS, SECONDS).body(), "released", "complete")
        closing.get(TIMEOUT_SECONDS, SECONDS)
        val connection = meanwhile.headers().firstValue("connection").orElse(null)
        return seen(mapOf("stream" to "ended", "call" to call, "meanwhile" to meanwhile.statusCode(), "connection" to connection))
    }

    fun compression(row: MountsTest.Row): JsonObject {
        val request = request(PATH, headers(row.tool) + ("accept-encoding" to "gzip")).POST(BodyPublishers.ofString(message(row.tool)))
        val response = http.send(request.build(), BodyHandlers.ofInputStream())
        val events = response.body().bufferedReader()
        val first = events.lineSequence().first { it.startsWith("data:") }
        released.complete(Unit)
        val seen = mapOf(
            "events" to outcome(first, "notifications/progress", "at once"),
            "call" to outcome(events.readText(), "released", "complete"),
            "cacheControl" to response.headers().firstValue("cache-control").orElse(null),
        )
        return seen(seen)
    }

    fun prefix(row: MountsTest.Row): JsonObject = seen(row.seen.keys.associateWith { post(row.tool, it).statusCode() })

    fun http2(row: MountsTest.Row): JsonObject {
        val client = http2Client()
        val status = post("echo", client = client).statusCode()
        val leaving = client.sendAsync(posting(row.tool), BodyHandlers.ofInputStream())
        happened(started)
        // Resets the stream.
        leaving.get(TIMEOUT_SECONDS, SECONDS).body().close()
        happened(cancelled)
        val running = client.send(posting(row.tool), BodyHandlers.ofInputStream())
        assertEquals(200, running.statusCode())
        val closing = CompletableFuture.runAsync { runBlocking { endpoint.close(600.seconds) } }
        var meanwhile = post("echo", client = client)
        while (meanwhile.statusCode() == 200) meanwhile = post("echo", client = client)
        released.complete(Unit)
        running.body().readAllBytes()
        closing.get(TIMEOUT_SECONDS, SECONDS)
        val connection = meanwhile.headers().firstValue("connection").orElse(null)
        return seen(mapOf("status" to status, "call" to "cancelled", "meanwhile" to meanwhile.statusCode(), "connection" to connection))
    }
}

private val BOTH = mapOf("accept" to "application/json, text/event-stream", "content-type" to "application/json")

private fun headers(tool: String): Map<String, String> =
    BOTH + mapOf("mcp-protocol-version" to "2026-07-28", "mcp-method" to "tools/call", "mcp-name" to tool)

private fun rpc(method: String, params: JsonObject, id: Int? = null): String = buildJsonObject {
    put("jsonrpc", "2.0")
    id?.let { put("id", it) }
    put("method", method)
    put("params", params)
}.toString()

/** A call of 2026-07-28, or in a session. */
private fun message(tool: String, isLegacy: Boolean = false): String {
    val params = buildJsonObject {
        put("name", tool)
        putJsonObject("arguments") { if (tool == "echo") put("text", "echoed") }
        putJsonObject("_meta") {
            put("progressToken", 1)
            if (isLegacy) return@putJsonObject
            put("io.modelcontextprotocol/protocolVersion", "2026-07-28")
            putJsonObject("io.modelcontextprotocol/clientCapabilities") {}
            putJsonObject("io.modelcontextprotocol/clientInfo") {
                put("name", "difficult")
                put("version", "1")
            }
        }
    }
    return rpc("tools/call", params, 2)
}

private fun readAll(stream: InputStream): String {
    val read = StringBuilder()
    val buffer = ByteArray(65_536)
    try {
        while (true) {
            val more = stream.read(buffer)
            if (more < 0) break
            read.append(String(buffer, 0, more, Charsets.ISO_8859_1))
        }
    } catch (_: IOException) {
        // The connection was reset.
    }
    return read.toString()
}

private fun outcome(text: String, wanted: String, name: String): String = if (wanted in text) name else text

private fun seen(members: Map<String, Any?>): JsonObject = JsonObject(members.mapValues { (_, value) -> jsonOf(value) })

private fun jsonOf(value: Any?): JsonElement = when (value) {
    is Number -> JsonPrimitive(value)
    is Boolean -> JsonPrimitive(value)
    else -> JsonPrimitive(value as String?)
}
