// A tool that returns an object with a schema.
package structuredoutput

import dev.trunkline.Client
import dev.trunkline.callTool
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.serialization.Serializable

@Serializable
class Place(val city: String)

@Serializable
class Weather(val sky: String, val degrees: Double)

suspend fun main() {
    val weather =
        server("weather", "1.0.0") {
            tool<Place, Weather>("weather", "The weather of a city.") { place -> Weather("snow over ${place.city}", -3.5) }
        }

    Client.connect(weather).use { client ->
        val oslo = jsonObjectOf("city" to "Oslo")
        println(client.callTool("weather", oslo).text)
        val today = client.callTool<Weather>("weather", oslo)
        println("${today.sky}, ${today.degrees} degrees")
    }
}
