// A vendor-specific method, and a client that calls it.
package ownmethods

import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long

val PARAMS =
    jsonObjectOf(
        "type" to "object",
        "properties" to mapOf("terms" to mapOf("type" to "array", "items" to mapOf("type" to "integer"))),
        "required" to listOf("terms"),
    )

suspend fun main() {
    val sums =
        server("sums", "1.0.0") {
            requestHandler("com.acme/sum", { paramsSchema = PARAMS }) { params ->
                progress(1.0, 1.0)
                jsonObjectOf("sum" to params.getValue("terms").jsonArray.sumOf { it.jsonPrimitive.long })
            }
        }

    Client.connect(sums).use { client ->
        val reply = client.request("com.acme/sum", jsonObjectOf("terms" to listOf(1, 2, 39)))
        println(reply.jsonObject["sum"])
    }
}
