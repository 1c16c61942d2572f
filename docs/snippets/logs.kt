// Log messages for the client, and the library's own log.
package logs

import dev.trunkline.Client
import dev.trunkline.LoggingLevel
import dev.trunkline.jsonObjectOf
import dev.trunkline.logger
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.coroutines.channels.Channel
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject

@Suppress("DEPRECATION")
suspend fun main() {
    // Trunkline logs to standard error, or to a logger such as that of SLF4J.
    logger = { record -> if (record.level == "error" || record.level == "warn") System.err.println(record.message) }

    val backup =
        server("backup", "1.0.0") {
            tool("backup", "Back up all files.") {
                log(LoggingLevel.DEBUG, JsonPrimitive("looking for changes"))
                log(LoggingLevel.INFO, jsonObjectOf("files" to 3), "copier")
                "done"
            }
        }

    val arrived = Channel<String>(Channel.UNLIMITED)
    val connecting =
        Client.connect(backup) {
            logLevel = LoggingLevel.INFO
            onLog { arrived.trySend("${it.level} of the ${it.logger}: ${it.data?.jsonObject?.get("files")} files") }
        }
    connecting.use { client ->
        val result = client.callTool("backup")
        println(arrived.receive())
        println(result.text)
    }
}
