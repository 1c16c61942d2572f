// Starts the server on its class path and uses it. Given a URL, it connects there instead.
@file:JvmName("TutorialClient")

package tutorialclient

import dev.trunkline.Client
import dev.trunkline.TextResourceContents
import dev.trunkline.TrunklineException
import dev.trunkline.jsonObjectOf
import dev.trunkline.text
import kotlin.system.exitProcess

val SERVER = listOf("java", "-cp", System.getProperty("java.class.path"), "tutorialserver.TutorialServer")

suspend fun main(args: Array<String>) {
    try {
        val connecting = if (args.isEmpty()) Client.connect(SERVER) else Client.connect(args.first())
        connecting.use { client ->
            println("tools: ${client.listTools().joinToString { it.name }}")
            for (text in listOf("milk and bread", "bread")) {
                val result = client.callTool("add_note", jsonObjectOf("name" to "groceries", "text" to text))
                println("${if (result.isError) "error:" else "result:"} ${result.text}")
            }
            println((client.readResource("notes://all").contents.first() as TextResourceContents).text)
        }
    } catch (error: TrunklineException) {
        System.err.println("${error.kind}: ${error.message}")
        exitProcess(1)
    }
}
