// The official Kotlin SDK. Usage: see ../README.md.
package peer

import io.github.oshai.kotlinlogging.KotlinLoggingConfiguration
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.Application
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.install
import io.ktor.server.cio.CIO
import io.ktor.server.engine.embeddedServer
import io.ktor.server.response.respond
import io.ktor.server.routing.routing
import io.ktor.server.sse.SSE
import io.modelcontextprotocol.kotlin.sdk.server.StdioServerTransport
import io.modelcontextprotocol.kotlin.sdk.server.mcp
import io.modelcontextprotocol.kotlin.sdk.server.mcpStreamableHttp
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import java.io.File
import kotlin.system.exitProcess

private const val USAGE =
    "usage: server stdio | server http PORT [--auth FILE] | server sse PORT | client --play FILE URL | " +
        "client --play FILE --stdio COMMAND..."

suspend fun main(args: Array<String>) {
    // The SDK's logger greets on standard output, which is the protocol's.
    KotlinLoggingConfiguration.logStartupMessage = false
    val words = args.toList()
    when (words.take(2)) {
        listOf("server", "stdio") -> serveStdio()
        listOf("server", "http") -> serve(words[2], "/mcp") { streamable(words.drop(3)) }
        listOf("server", "sse") -> serve(words[2], "/sse") { sse() }
        listOf("client", "--play") -> playFile(words[2], words.drop(3))
        else -> error(USAGE)
    }
    exitProcess(0) // does not wait for what the SDK leaves running
}

private suspend fun serveStdio() {
    val closed = CompletableDeferred<Unit>()
    val transport = StdioServerTransport(System.`in`.asSource().buffered(), System.out.asSink().buffered())
    newServer().createSession(transport).onClose { closed.complete(Unit) }
    closed.await()
}

private fun Application.streamable(words: List<String>) {
    val isProtected = words.size == 2 && words[0] == "--auth"
    if (isProtected) {
        val token = Json.parseToJsonElement(File(words[1]).readText()).jsonObject.getValue("token").jsonPrimitive.content
        install(protection(token))
    }
    mcpStreamableHttp { newServer(if (isProtected) "ada" else "nobody") }
}

/** Requires an access token. */
private fun protection(token: String) = createApplicationPlugin("protection") {
    onCall { call ->
        if (call.request.headers[HttpHeaders.Authorization] != "Bearer $token") {
            call.respond(HttpStatusCode.Unauthorized)
        }
    }
}

@Suppress("DEPRECATION") // HTTP+SSE itself
private fun Application.sse() {
    install(SSE)
    routing { mcp("/sse") { newServer() } }
}

private suspend fun serve(port: String, path: String, module: Application.() -> Unit) {
    val web = embeddedServer(CIO, port.toInt(), "127.0.0.1", module = module).startSuspend()
    println("listening http://127.0.0.1:${web.engine.resolvedConnectors().single().port}$path")
    awaitCancellation()
}
