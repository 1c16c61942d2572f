// A tool that asks the user a question, and a client that answers it.
package elicitation

import dev.trunkline.Client
import dev.trunkline.ElicitAction
import dev.trunkline.ElicitResult
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.serialization.Serializable

@Serializable
class Table(val people: Int)

suspend fun main() {
    val restaurant =
        server("restaurant", "1.0.0") {
            tool("book", "Book a table.") {
                val table = elicit<Table>("A table for how many?").content
                if (table == null) "Nothing was booked." else "A table for ${table.people} is booked."
            }
        }

    val connecting =
        Client.connect(restaurant) {
            onElicit { request ->
                println(request.message) // here the user fills in the form of `request.requestedSchema`
                ElicitResult(ElicitAction.ACCEPT, jsonObjectOf("people" to 4))
            }
        }
    connecting.use { client -> println(client.callTool("book").text) }
}
