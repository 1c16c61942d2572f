// A gateway that exposes an older server under the newest revision, next to its own tool.
package composition

import dev.trunkline.Client
import dev.trunkline.RevisionChoice
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text

val OLD = listOf("java", "-cp", System.getProperty("java.class.path"), "tutorialserver.TutorialServer")

suspend fun main() {
    val gateway = server("gateway", "1.0.0")
    val extra = server("extra", "1.0.0") { tool("hello", "Greet.") { "Hello" } }

    Client.connect(OLD, options = { revision = RevisionChoice.LEGACY }).use { old ->
        gateway.proxy(old)
        gateway.mount("extra", extra)
        // Over HTTP: gateway.listen
        Client.connect(gateway) { revision = RevisionChoice.V2026_07_28 }.use { client ->
            println(client.listTools().joinToString(" ") { it.name })
            val result = client.callTool("add_note", jsonObjectOf("name" to "groceries", "text" to "milk"))
            println("${old.revision} as ${client.revision}: ${result.text}")
        }
    }
}
