// Information about a connection, and why one failed.
package debugging

import dev.trunkline.Client
import dev.trunkline.server
import dev.trunkline.text
import java.io.IOException

suspend fun main() {
    // Sends error details, which may be secret, to clients: not for production.
    val backup =
        server("backup", "1.0.0", options = { debug = true }) {
            tool("backup", "Back up all files.") { throw IOException("disk full") }
        }

    Client.connect(backup).use { client ->
        println("${client.revision} ${client.serverInfo?.name}")
        val result = client.callTool("backup")
        println("${if (result.isError) "error:" else "result:"} ${Regex("disk full").find(result.text)?.value}")
    }
}
