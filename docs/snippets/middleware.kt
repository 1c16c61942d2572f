// Middleware around each tool call: it counts calls and refuses some.
package middleware

import dev.trunkline.Client
import dev.trunkline.ProtocolException
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.withContext
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext

@Serializable
class Guest(val name: String)

// Elements of the coroutine context follow requests to their handlers.
class Title(val text: String) : AbstractCoroutineContextElement(Key) {
    companion object Key : CoroutineContext.Key<Title>
}

suspend fun main() {
    val greeter =
        server("greeter", "1.0.0") {
            middleware("tools/call") { request ->
                if (request.params["arguments"]?.jsonObject?.get("name") == JsonPrimitive("Mallory")) {
                    throw ProtocolException("Mallory may not call.", 403)
                }
                val result = withContext(Title("Countess")) { request.next() }
                println("${request.params.getValue("name").jsonPrimitive.content} was called")
                result
            }
            tool<Guest>("greet", "Greet someone.") { guest ->
                "Hello, ${currentCoroutineContext()[Title]?.text} ${guest.name}!"
            }
        }

    Client.connect(greeter).use { client ->
        println(client.callTool("greet", jsonObjectOf("name" to "Ada")).text)
        try {
            client.callTool("greet", jsonObjectOf("name" to "Mallory"))
        } catch (error: ProtocolException) {
            println(error.code)
        }
    }
}
