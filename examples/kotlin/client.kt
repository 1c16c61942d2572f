// Calls the server on its class path, or one at a URL: java weather.Client [http://127.0.0.1:8000/mcp]
@file:JvmName("Client")

package weather

import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import dev.trunkline.text
import kotlin.time.Duration.Companion.seconds

suspend fun main(args: Array<String>) {
    val command = listOf("java", "-cp", System.getProperty("java.class.path"), "weather.Server")
    val connecting = if (args.isEmpty()) Client.connect(command) else Client.connect(args.first())
    connecting.use { client ->
        println("connected to ${client.serverInfo?.name}, revision ${client.revision}")
        for (tool in client.listTools()) println("tool ${tool.name}: ${tool.description}")
        val result =
            client.callTool("forecast", jsonObjectOf("city" to "Oslo", "days" to 2)) {
                timeout = 10.seconds
                onProgress = { println("progress ${it.progress.toInt()}${it.total?.let { total -> " of ${total.toInt()}" } ?: ""}") }
            }
        println(result.text)
    }
}
