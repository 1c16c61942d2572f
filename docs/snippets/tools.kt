// A tool with typed arguments, and a client in the same process.
package tools

import dev.trunkline.Client
import dev.trunkline.Description
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.serialization.Serializable

@Serializable
class Request(@Description("The name of the city.") val city: String, @Description("The number of days, 1 to 7.") val days: Int = 2) {
    init {
        require(days in 1..7) { "days must be 1 to 7" }
    }
}

suspend fun main() {
    val weather =
        server("weather", "1.0.0") {
            tool<Request>("forecast", "Forecast the weather of a city.") { request ->
                "${request.city}: ${List(request.days) { "snow" }.joinToString()}"
            }
        }

    Client.connect(weather).use { client ->
        for (tool in client.listTools()) println("${tool.name}: ${tool.description}")
        println(client.callTool("forecast", jsonObjectOf("city" to "Oslo")).text)
        val result = client.callTool("forecast", jsonObjectOf("city" to "Oslo", "days" to 20))
        println(if (result.isError) "refused" else result.text)
    }
}
