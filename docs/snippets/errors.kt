// Errors: for the model, for the log, protocol errors, and timeouts.
package errors

import dev.trunkline.Client
import dev.trunkline.ProtocolException
import dev.trunkline.RequestTimeoutException
import dev.trunkline.ToolException
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.coroutines.awaitCancellation
import kotlinx.serialization.Serializable
import kotlin.time.Duration.Companion.milliseconds

@Serializable
class Article(val article: String)

suspend fun main() {
    val shop =
        server("shop", "1.0.0") {
            tool<Article>("price", "The price of an article.") {
                if (it.article == "sun") throw ToolException("The sun is not for sale.")
                throw NoSuchElementException("no row for ${it.article} in prices.db")
            }
            tool("wait", "Never ends.") { awaitCancellation() }
        }

    Client.connect(shop).use { client ->
        for (article in listOf("sun", "moon")) println(client.callTool("price", jsonObjectOf("article" to article)).text)
        try {
            client.callTool("prize")
        } catch (error: ProtocolException) {
            println("${error.kind.name.lowercase()} ${error.code}")
        }
        try {
            client.callTool("wait") { timeout = 50.milliseconds }
        } catch (error: RequestTimeoutException) {
            println(error.kind.name.lowercase())
        }
    }
}
