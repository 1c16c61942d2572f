// A server that changes its features at run time, for everyone or per caller.
package features

import dev.trunkline.Client
import dev.trunkline.Implementation
import dev.trunkline.Server
import dev.trunkline.server
import kotlinx.serialization.Serializable
import kotlin.time.Duration.Companion.seconds

@Serializable
class Article(val article: String)

suspend fun showTools(server: Server, name: String) {
    Client.connect(server) { info = Implementation(name, "1.0.0") }.use { client ->
        println("$name: ${client.listTools().joinToString(" ") { it.name }}")
    }
}

suspend fun main() {
    val shop = server("shop", "1.0.0")
    val price = shop.tool<Article>("price", "The price of an article.", { timeout = 2.seconds }) { "${it.article}: 5" }
    // With access tokens: `auth`.
    shop.tool<Article>("discount", "Lower a price.", { visible { clientInfo?.name == "staff" } }) {
        "${it.article} is cheaper now"
    }

    showTools(shop, "staff")
    showTools(shop, "guest")
    price.update { description = "The price of an article, in euros." }
    price.disable()
    showTools(shop, "staff")
    price.enable()
}
