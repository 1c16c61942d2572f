// A bridge that clients see as the server behind it, which starts with their first request.
package transparent

import dev.trunkline.Client
import dev.trunkline.server

val NOTES = listOf("java", "-cp", System.getProperty("java.class.path"), "tutorialserver.TutorialServer")

suspend fun main() {
    val bridge = server("bridge", "1.0.0")

    Client.connect(NOTES, options = { lazy = true }).use { notes ->
        bridge.proxy(notes) { transparent = true }
        // Over HTTP: bridge.listen
        Client.connect(bridge).use { client ->
            val tools = client.listTools().joinToString(" ") { it.name }
            println("${client.serverInfo?.name}: $tools")
        }
    }
}
