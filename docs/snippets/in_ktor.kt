// A server in a Ktor application, and a client that calls it.
package inktor

import dev.trunkline.Client
import dev.trunkline.ktor.mcp
import dev.trunkline.server
import dev.trunkline.text
import io.ktor.server.application.Application
import io.ktor.server.cio.CIO
import io.ktor.server.engine.embeddedServer
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.route
import io.ktor.server.routing.routing

fun Application.module() {
    val mounted = server("mounted", "1.0.0") { tool("hello", "Greets") { "Hello from Ktor" } }
    routing {
        get("/") { call.respondText("An ordinary page") }
        route("/mcp") { mcp(mounted) }
    }
}

suspend fun main() {
    val web = embeddedServer(CIO, 0, "127.0.0.1", module = Application::module).startSuspend()
    val port = web.engine.resolvedConnectors().single().port
    Client.connect("http://127.0.0.1:$port/mcp").use { println(it.callTool("hello").text) }
    web.stopSuspend()
}
