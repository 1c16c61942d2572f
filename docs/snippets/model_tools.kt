// A server's tools in the formats of model providers, and a result as the model sees it.
package modeltools

import dev.trunkline.CallToolResult
import dev.trunkline.Client
import dev.trunkline.ImageContent
import dev.trunkline.TextContent
import dev.trunkline.Tool
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive

@Serializable
class Place(val city: String)

fun described(tool: Tool, schema: String): JsonObject =
    jsonObjectOf("name" to tool.name, "description" to tool.description.orEmpty(), schema to tool.inputSchema)

fun forOpenai(tool: Tool): JsonObject = jsonObjectOf("type" to "function", "function" to described(tool, "parameters"))

fun forAnthropic(tool: Tool): JsonObject = described(tool, "input_schema")

fun forGemini(tool: Tool): JsonObject = described(tool, "parametersJsonSchema")

fun resultForAnthropic(use: String, result: CallToolResult): JsonObject {
    val content =
        result.content.mapNotNull { block ->
            when (block) {
                is TextContent -> jsonObjectOf("type" to "text", "text" to block.text)

                is ImageContent -> {
                    val source = mapOf("type" to "base64", "media_type" to block.mimeType, "data" to block.data)
                    jsonObjectOf("type" to "image", "source" to source)
                }

                else -> null
            }
        }
    return jsonObjectOf("type" to "tool_result", "tool_use_id" to use, "content" to content, "is_error" to result.isError)
}

fun needed(schema: JsonElement?): String = schema!!.jsonObject.getValue("required").jsonArray.first().jsonPrimitive.content

suspend fun main() {
    val weather =
        server("weather", "1.0.0") {
            tool<Place>("forecast", "Forecast the weather of a city.") { place -> "${place.city}: snow" }
        }

    Client.connect(weather).use { client ->
        val tool = client.listTools().first()
        println("openai: ${tool.name} needs ${needed(forOpenai(tool)["function"]!!.jsonObject["parameters"])}")
        println("anthropic: ${tool.name} needs ${needed(forAnthropic(tool)["input_schema"])}")
        println("gemini: ${tool.name} needs ${needed(forGemini(tool)["parametersJsonSchema"])}")

        val result = resultForAnthropic("toolu_1", client.callTool("forecast", jsonObjectOf("city" to "Oslo")))
        val first = result.getValue("content").jsonArray.first().jsonObject
        println("${first.getValue("type").jsonPrimitive.content}: ${first.getValue("text").jsonPrimitive.content}")
    }
}
