// Tests of a server without sockets or processes. In your project, make them functions with `@Test`.
package testing

import dev.trunkline.Client
import dev.trunkline.RevisionChoice
import dev.trunkline.Server
import dev.trunkline.ToolException
import dev.trunkline.callTool
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import kotlinx.serialization.Serializable

@Serializable
class Divide(val dividend: Double, val divisor: Double)

fun divide(given: Divide): Double {
    if (given.divisor == 0.0) throw ToolException("division by zero")
    return given.dividend / given.divisor
}

fun theFunctionItself() {
    check(divide(Divide(3.0, 2.0)) == 1.5)
}

suspend fun aCallThroughTheProtocol(server: Server, revision: RevisionChoice) {
    Client.connect(server) { this.revision = revision }.use { client ->
        check(client.revision == revision.value)
        check(client.callTool<String>("divide", jsonObjectOf("dividend" to 3, "divisor" to 2)) == "1.5")
    }
}

suspend fun failures(server: Server) {
    Client.connect(server).use { client ->
        try {
            client.callTool<String>("divide", jsonObjectOf("dividend" to 3, "divisor" to 0))
        } catch (error: ToolException) {
            println("the handler failed: ${error.message}")
        }
    }
}

suspend fun main() {
    val calculator = server("calculator", "1.0.0") { tool<Divide>("divide", "Divide two numbers.") { divide(it) } }
    theFunctionItself()
    for (revision in listOf(RevisionChoice.V2026_07_28, RevisionChoice.V2024_11_05)) {
        aCallThroughTheProtocol(calculator, revision)
    }
    failures(calculator)
    println("all passed")
}
