// A client for an entry of a configuration file: it starts the server and negotiates a revision.
package connecting

import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.jsonObject
import kotlin.time.Duration.Companion.seconds

val ENTRY =
    jsonObjectOf(
        "command" to "java",
        "args" to listOf("-cp", System.getProperty("java.class.path"), "tutorialserver.TutorialServer"),
    )

suspend fun main() {
    val connected =
        Client.connect(ENTRY) {
            timeout = 10.seconds
            // On a busy machine, a JVM takes seconds to start.
            probeTimeout = 20.seconds
        }
    connected.use { client ->
        println("${client.serverInfo?.name} ${client.serverInfo?.version}")
        println(client.revision)
        println(Json.encodeToJsonElement(client.capabilities).jsonObject.keys.sorted().joinToString())
        println(client.instructions)
    }
}
