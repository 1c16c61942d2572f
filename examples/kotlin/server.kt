// A server with one tool. Over stdio: java weather.Server; over HTTP: java weather.Server 8000
@file:JvmName("Server")

package weather

import dev.trunkline.ToolException
import dev.trunkline.server
import kotlinx.serialization.Serializable

val CITIES = mapOf("Oslo" to "snow", "Rome" to "sunny")

@Serializable
class Request(val city: String, val days: Int = 3)

suspend fun main(args: Array<String>) {
    val weather =
        server("weather", "1.0.0") {
            tool<Request>("forecast", "Forecast the weather of a city.") { request ->
                val sky =
                    CITIES[request.city]
                        ?: throw ToolException("no forecast for ${request.city}; try ${CITIES.keys.joinToString(" or ")}")
                val lines =
                    (1..request.days).map { day ->
                        progress(day.toDouble(), request.days.toDouble())
                        "day $day: $sky"
                    }
                lines.joinToString("\n")
            }
        }

    if (args.isEmpty()) return weather.serveStdio()
    val listener = weather.listen { port = args.first().toInt() }
    println("listening at ${listener.url}")
    listener.run()
}
