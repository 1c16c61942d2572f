// A prompt with arguments, one of them optional, and a client that gets it.
package prompts

import dev.trunkline.Client
import dev.trunkline.PromptArgument
import dev.trunkline.PromptMessage
import dev.trunkline.Role
import dev.trunkline.TextContent
import dev.trunkline.server
import dev.trunkline.text

suspend fun main() {
    val arguments = listOf(PromptArgument("code", description = "The code to review", required = true), PromptArgument("focus"))
    val review =
        server("review", "1.0.0") {
            prompt("review", "Review code.", arguments) { given ->
                val focus = given["focus"] ?: "errors"
                listOf(
                    PromptMessage(Role.USER, text("Review this code, above all for $focus: ${given["code"]}")),
                    PromptMessage(Role.ASSISTANT, text("I will list each finding with its line.")),
                )
            }
        }

    Client.connect(review).use { client ->
        for (prompt in client.listPrompts()) {
            val needed = prompt.arguments.orEmpty().filter { it.required }.joinToString { it.name }
            println("${prompt.name}: ${prompt.description} Needs $needed.")
        }
        for (message in client.getPrompt("review", mapOf("code" to "x = 1")).messages) {
            println("${message.role}: ${(message.content as TextContent).text}")
        }
    }
}
