// Suggestions for a prompt argument while the user types.
package completion

import dev.trunkline.Client
import dev.trunkline.CompleteArgument
import dev.trunkline.PromptArgument
import dev.trunkline.PromptReference
import dev.trunkline.server

val CITIES = listOf("Oslo", "Osaka", "Rome")

suspend fun main() {
    val trips =
        server("trips", "1.0.0") {
            prompt(
                "packing",
                "List the things to pack for a city.",
                listOf(PromptArgument("city", required = true)),
                options = { complete("city") { request -> CITIES.filter { it.startsWith(request.value) } } },
            ) { "Write a packing list for ${it["city"]}." }
        }

    Client.connect(trips).use { client ->
        val result = client.complete(PromptReference("packing"), CompleteArgument("city", "Os"))
        println(result.completion.values.joinToString())
    }
}
