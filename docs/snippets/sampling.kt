// A tool that samples the client's model, and a client with a model.
package sampling

import dev.trunkline.Client
import dev.trunkline.CreateMessageResult
import dev.trunkline.Role
import dev.trunkline.SamplingMessage
import dev.trunkline.TextContent
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.serialization.Serializable

@Serializable
class Text(val text: String)

@Suppress("DEPRECATION")
suspend fun main() {
    val notes =
        server("notes", "1.0.0") {
            tool<Text>("summarize", "Summarize a text.") { given ->
                val question = SamplingMessage(Role.USER, listOf(TextContent("Summarize in three words: ${given.text}")))
                (sample(listOf(question), maxTokens = 50).content.first() as TextContent).text
            }
        }

    val connecting =
        Client.connect(notes) {
            onSample { request ->
                println("at most ${request.maxTokens} tokens") // here the host asks its model
                CreateMessageResult(Role.ASSISTANT, listOf(TextContent("Snow in Oslo")), "a-model")
            }
        }
    connecting.use { client ->
        val text = "It has been snowing in Oslo since Monday."
        println(client.callTool("summarize", jsonObjectOf("text" to text)).text)
    }
}
