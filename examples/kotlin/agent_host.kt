// A host in the terminal: java host.AgentHost mcp.json
//
// It connects to every server in the configuration, lists their features, and calls the tools that
// the user names. Servers can ask the user in the terminal, and let the user log in with the
// browser.
@file:JvmName("AgentHost")

package host

import dev.trunkline.ClientGroup
import dev.trunkline.OAuthOptions
import dev.trunkline.TextContent
import dev.trunkline.TrunklineException
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import java.nio.file.Path

private const val HELP = """  NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
  read URI             reads a resource
  prompt NAME [JSON]   gets a prompt
"""

private suspend fun show(group: ClientGroup) {
    for (server in group.servers()) println("${server.name}: ${server.error?.message ?: server.state}")
    for (tool in group.listTools()) println("tool ${tool.name}: ${tool.description}")
    for (resource in group.listResources()) println("resource ${resource.uri}: ${resource.name}")
    for (prompt in group.listPrompts()) println("prompt ${prompt.name}: ${prompt.description}")
}

private fun arguments(text: String): JsonObject = Json.parseToJsonElement(text.ifEmpty { "{}" }).jsonObject

private suspend fun run(group: ClientGroup, line: String) {
    val name = line.substringBefore(" ")
    val rest = line.substringAfter(" ", "")
    when (name) {
        "read" -> group.readResource(rest).contents.forEach { println(Json.encodeToString(it)) }

        "prompt" -> {
            val given = arguments(rest.substringAfter(" ", "")).mapValues { it.value.jsonPrimitive.content }
            for (message in group.getPrompt(rest.substringBefore(" "), given).messages) {
                println("${message.role}: ${Json.encodeToString(message.content)}")
            }
        }

        else ->
            for (block in group.callTool(name, arguments(rest)).content) {
                println(if (block is TextContent) block.text else Json.encodeToString(block))
            }
    }
}

suspend fun main(args: Array<String>) {
    val auth =
        OAuthOptions().apply {
            clientName = "Agent host"
            store = "file"
        }
    // The program uses the terminal only between calls; during calls, `terminalForms` may.
    ClientGroup.connect(Path.of(args.first()), auth = auth, options = { terminalForms = true }).use { group ->
        show(group)
        print("$HELP> ")
        while (true) {
            val line = readlnOrNull()?.trim() ?: break
            try {
                if (line.isNotEmpty()) run(group, line)
            } catch (error: TrunklineException) {
                println("error: ${error.message}")
            } catch (error: IllegalArgumentException) {
                println("error: ${error.message}")
            }
            print("> ")
        }
    }
}
