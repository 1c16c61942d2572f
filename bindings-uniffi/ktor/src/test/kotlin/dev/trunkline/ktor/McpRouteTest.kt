package dev.trunkline.ktor

import dev.trunkline.Client
import dev.trunkline.RevisionChoice
import dev.trunkline.Server
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCallPipeline
import io.ktor.server.application.ApplicationStopPreparing
import io.ktor.server.application.call
import io.ktor.server.cio.CIO
import io.ktor.server.engine.ApplicationEngine
import io.ktor.server.engine.ApplicationEngineFactory
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.netty.NettyApplicationEngine
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.route
import io.ktor.server.routing.routing
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.Serializable
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse.BodyHandlers
import java.time.Duration
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class McpRouteTest {
    @Serializable
    class Name(val name: String)

    private val started = CompletableDeferred<Unit>()
    private val cancelled = CompletableDeferred<Unit>()

    private fun greeter() = server("mounted", "1.0") {
        tool<Name>("greet", "Greets") {
            progress(1.0)
            "Hello ${it.name}"
        }
        tool("wait", "Waits until it is cancelled") {
            started.complete(Unit)
            try {
                awaitCancellation()
            } finally {
                cancelled.complete(Unit)
            }
        }
    }

    /** Runs [work] with the origin of a web server that serves MCP at `/api/mcp` next to a page. */
    private fun <E : ApplicationEngine, C : ApplicationEngine.Configuration> mounted(
        engine: ApplicationEngineFactory<E, C>,
        server: Server = greeter(),
        work: suspend (String) -> Unit,
    ) = runBlocking {
        val module: Application.() -> Unit = {
            // As the plugin for CORS does.
            intercept(ApplicationCallPipeline.Plugins) { call.response.headers.append("Access-Control-Allow-Origin", "*") }
            routing {
                get("/") { call.respondText("a page") }
                route("/api/mcp") { mcp(server) { allowedOrigins = listOf("https://app.example") } }
            }
        }
        val web = embeddedServer(engine, 0, "127.0.0.1", module = module).startSuspend()
        try {
            withTimeout(30.seconds) { work("http://127.0.0.1:${web.engine.resolvedConnectors().single().port}") }
        } finally {
            web.stopSuspend(0, 1000)
            server.close()
        }
    }

    @Test
    fun `a route serves each revision and streams progress`() = mounted(CIO) { origin ->
        for (revision in listOf(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
            Client.connect("$origin/api/mcp", options = { this.revision = revision }).use { client ->
                val seen = mutableListOf<Double>()
                val result = client.callTool("greet", jsonObjectOf("name" to "é")) { onProgress = { seen += it.progress } }
                assertEquals("Hello é" to listOf(1.0), result.text to seen)
            }
        }
        assertEquals("a page", get(origin).body())
    }

    @Test
    fun `a body of many chunks arrives whole`() = mounted(Netty) { origin ->
        Client.connect("$origin/api/mcp").use { client ->
            val name = "x".repeat(1_000_000)
            assertEquals("Hello $name", client.callTool("greet", jsonObjectOf("name" to name)).text)
        }
    }

    @Test
    fun `a client that leaves cancels its call under CIO`() = leaving(CIO)

    @Test
    fun `a client that leaves cancels its call under Netty`() = leaving(Netty)

    private fun <E : ApplicationEngine, C : ApplicationEngine.Configuration> leaving(engine: ApplicationEngineFactory<E, C>) =
        mounted(engine) { origin ->
            Client.connect("$origin/api/mcp", options = { revision = RevisionChoice.MODERN }).use { client ->
                runBlocking {
                    val call = launch { client.callTool("wait") }
                    started.await()
                    call.cancelAndJoin()
                    cancelled.await()
                }
            }
        }

    @Test
    fun `a request that offers an upgrade gets its error`() = mounted(CIO) { origin ->
        // The client of the JDK offers HTTP/2.
        val refused = get("$origin/api/mcp", "Origin" to "https://evil.example")
        assertEquals(403, refused.statusCode())
    }

    @Test
    fun `the host of a request over HTTP 2 is checked`() = runBlocking {
        val server = greeter()
        val configure: NettyApplicationEngine.Configuration.() -> Unit = {
            connector {
                host = "127.0.0.1"
                port = 0
            }
            enableH2c = true
        }
        val web = embeddedServer(Netty, configure = configure) { routing { route("/mcp") { mcp(server) } } }.startSuspend()
        val url = URI("http://0.0.0.0:${web.engine.resolvedConnectors().single().port}/mcp")
        val request = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(30)).build()
        val client = HttpClient.newHttpClient()
        // The first one offers the upgrade.
        val responses = List(2) { client.send(request, BodyHandlers.discarding()) }
        assertEquals(HttpClient.Version.HTTP_2, responses.last().version())
        assertEquals(listOf(403, 403), responses.map { it.statusCode() })
        web.stopSuspend(0, 1000)
        server.close()
    }

    @Test
    fun `an origin that the application allows stands alone`() = mounted(CIO) { origin ->
        val allowed = get("$origin/api/mcp", "Origin" to "https://app.example").headers().allValues("Access-Control-Allow-Origin")
        assertEquals(listOf("*"), allowed)
    }

    @Test
    fun `an endpoint closes with its application`() {
        var call: Job? = null
        mounted(CIO) { origin ->
            call =
                CoroutineScope(Dispatchers.IO).launch {
                    runCatching { Client.connect("$origin/api/mcp").use { it.callTool("wait") } }
                }
            started.await()
        }
        runBlocking { withTimeout(30.seconds) { cancelled.await() } }
        call?.cancel()
    }

    @Test
    fun `an endpoint that a late request opens again closes with its application`() {
        var opened = 0
        val server = server("mounted", "1.0", lifespan = { AutoCloseable { opened-- }.also { opened++ } })
        var url = ""
        val module: Application.() -> Unit = {
            routing { route("/mcp") { mcp(server) } }
            monitor.subscribe(ApplicationStopPreparing) {
                runBlocking { Client.connect(url).close() }
                assertEquals(1, opened)
            }
        }
        runBlocking {
            val web = embeddedServer(Netty, 0, "127.0.0.1", module = module).startSuspend()
            url = "http://127.0.0.1:${web.engine.resolvedConnectors().single().port}/mcp"
            web.stopSuspend(0, 1000)
            assertEquals(0, opened)
            server.close()
        }
    }

    private fun get(url: String, vararg headers: Pair<String, String>): java.net.http.HttpResponse<String> {
        val request = HttpRequest.newBuilder(URI(url)).timeout(Duration.ofSeconds(30)).GET()
        for ((name, value) in headers) request.header(name, value)
        return HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString())
    }
}
