package dev.trunkline

import com.sun.net.httpserver.HttpServer
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.flow.fold
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import java.net.InetSocketAddress
import java.net.Socket
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.util.concurrent.Executors
import java.util.logging.Handler
import java.util.logging.Logger
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

class HttpEndpointTest {
    private fun test(work: suspend () -> Unit) = runBlocking { withTimeout(20.seconds) { work() } }

    private suspend fun mounted(server: Server, work: suspend (url: String) -> Unit) {
        val endpoint = server.endpoint()
        val web = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
        val threads = Executors.newCachedThreadPool()
        web.executor = threads
        web.createContext("/mcp", endpoint.toHandler())
        web.start()
        try {
            work("http://127.0.0.1:${web.address.port}/mcp")
        } finally {
            endpoint.close()
            web.stop(0)
            threads.shutdownNow()
        }
    }

    private fun call(method: String, id: Int = 1): HttpRequest {
        val meta = """{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"""
        val body = """{"jsonrpc":"2.0","id":$id,"method":"tools/call","params":{"name":"$method","arguments":{},"_meta":$meta}}"""
        val headers =
            listOf(
                "host" to "localhost",
                "content-type" to "application/json",
                "accept" to "application/json, text/event-stream",
                "mcp-protocol-version" to "2026-07-28",
                "mcp-method" to "tools/call",
                "mcp-name" to method,
            )
        return HttpRequest("POST", "/mcp", headers, flowOf(body.encodeToByteArray()))
    }

    @Test
    fun `the web server of the JDK serves every revision`() = test {
        val server = server("web", "1") { tool("agent") { headers.getValue("x-agent") } }
        mounted(server) { url ->
            for (revision in listOf(RevisionChoice.LEGACY, RevisionChoice.MODERN)) {
                val client = Client.connect(url, { headers = mapOf("x-agent" to "trunk") }, options = { this.revision = revision })
                client.use { assertEquals("trunk", it.callTool<String>("agent")) }
            }
        }
        server.close()
    }

    @Test
    fun `the web server of the JDK has nothing to warn about`() = test {
        val records = mutableListOf<java.util.logging.LogRecord>()
        val logger = Logger.getLogger("com.sun.net.httpserver")
        val handler =
            object : Handler() {
                override fun publish(record: java.util.logging.LogRecord) {
                    records += record
                }

                override fun flush() {}

                override fun close() {}
            }
        logger.addHandler(handler)
        val server = server("web", "1")
        mounted(server) { url ->
            val head = java.net.http.HttpRequest.newBuilder(URI(url)).method("HEAD", BodyPublishers.noBody()).build()
            assertEquals(405, HttpClient.newHttpClient().send(head, BodyHandlers.discarding()).statusCode())
        }
        logger.removeHandler(handler)
        assertEquals(emptyList(), records.map { it.message })
        server.close()
    }

    @Test
    fun `a body that is too large gets its response`() = test {
        val server = server("web", "1")
        mounted(server) { url ->
            repeat(3) {
                val post = java.net.http.HttpRequest.newBuilder(URI(url)).POST(BodyPublishers.ofByteArray(ByteArray(20_000_000)))
                post.header("content-type", "application/json").header("accept", "application/json, text/event-stream")
                assertEquals(413, HttpClient.newHttpClient().send(post.build(), BodyHandlers.discarding()).statusCode())
            }
        }
        server.close()
    }

    @Test
    fun `a refusal does not wait for the body`() = test {
        val server = server("web", "1")
        val endpoint = server.endpoint()
        val response = endpoint.handle(HttpRequest("POST", "/mcp", listOf("host" to "evil.example"), flow { awaitCancellation() }))
        assertEquals(403, response.status)
        response.close()
        endpoint.close()
        server.close()
    }

    @Test
    fun `the web server of the JDK drops a body that never comes`() = test {
        val server = server("web", "1")
        mounted(server) { url ->
            Socket("127.0.0.1", URI(url).port).use { socket ->
                socket.soTimeout = 15_000
                socket.getOutputStream().write("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n".encodeToByteArray())
                val response = socket.getInputStream().readBytes().decodeToString()
                assertTrue(response.startsWith("HTTP/1.1 403 "), response)
            }
        }
        server.close()
    }

    @Test
    fun `large responses pass in parts`() = test {
        val server = server("web", "1") { tool("large") { "x".repeat(1_000_000) } }
        mounted(server) { url -> Client.connect(url).use { assertEquals(1_000_000, it.callTool<String>("large").length) } }
        server.close()
    }

    @Test
    fun `bodies that do not arrive hold up no other`() = test {
        val server = server("web", "1") { tool("hello") { "Hi" } }
        mounted(server) { url ->
            val head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
            val slow = List(70) { Socket("127.0.0.1", URI(url).port).apply { getOutputStream().write(head.encodeToByteArray()) } }
            delay(500)
            Client.connect(url).use { assertEquals("Hi", it.callTool<String>("hello")) }
            slow.forEach(Socket::close)
        }
        server.close()
    }

    @Test
    @Suppress("DEPRECATION")
    fun `a response that nobody reads any more cancels its call`() = test {
        val (started, cancelled) = List(2) { CompletableDeferred<Unit>() }
        val server =
            server("web", "1", options = { keepAlive = 50.milliseconds }) {
                tool("endless") {
                    progress(1.0)
                    logInfo("started")
                    started.complete(Unit)
                    try {
                        awaitCancellation()
                    } finally {
                        cancelled.complete(Unit)
                    }
                }
            }
        val endpoint = server.endpoint()
        val response = endpoint.handle(call("endless"))
        started.await()
        response.close()
        cancelled.await()
        endpoint.close()
        server.close()
    }

    @Test
    @Suppress("DEPRECATION")
    fun `a response that is cut short does not look complete`() = test {
        val started = CompletableDeferred<Unit>()
        val server =
            server("web", "1") {
                tool("endless") {
                    logInfo("started")
                    started.complete(Unit)
                    awaitCancellation()
                }
            }
        mounted(server) { url ->
            val request = call("endless")
            val body = request.body.first()
            val headers = (request.headers + ("content-length" to "${body.size}")).joinToString("") { "${it.first}: ${it.second}\r\n" }
            Socket("127.0.0.1", URI(url).port).use { socket ->
                socket.soTimeout = 5000
                socket.getOutputStream().write("POST /mcp HTTP/1.1\r\n$headers\r\n".encodeToByteArray() + body)
                started.await()
                server.close(0.seconds)
                val response = socket.getInputStream().readBytes().decodeToString()
                assertTrue("200 OK" in response && !response.endsWith("\r\n0\r\n\r\n"), response)
            }
        }
    }

    @Test
    fun `bytes of a body and a status are those of the core`() = test {
        val server = server("web", "1") { tool("hello") { "Hi" } }
        val endpoint = server.endpoint()
        val answer = endpoint.handle(call("hello"))
        val body = answer.body.fold("") { text, bytes -> text + bytes.decodeToString() }
        assertTrue(answer.status == 200 && "Hi" in body, body)
        val wrong = endpoint.handle(HttpRequest("PUT", "/mcp", listOf("host" to "localhost")))
        assertEquals(405, wrong.status)
        wrong.close()
        endpoint.close()
        val again = endpoint.handle(call("hello"))
        assertTrue(again.body.first().isNotEmpty())
        endpoint.close()
        server.close()
    }

    @Test
    fun `a wrong option fails at once`() {
        val server = server("web", "1")
        assertFailsWith<InvalidArgumentException> { server.endpoint { port = 80 } }
    }
}
