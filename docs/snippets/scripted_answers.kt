// A test of a tool that asks the user, with scripted answers.
package scriptedanswers

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
    // Reruns handlers that ask, on every revision: this reveals effects before a question.
    val restaurant =
        server("restaurant", "1.0.0", options = { rerunHandlers = true }) {
            tool("book", "Book a table.") {
                val table = elicit<Table>("A table for how many?").content
                if (table == null) "Nothing was booked." else "A table for ${table.people} is booked."
            }
        }

    val answers =
        ArrayDeque(listOf(ElicitResult(ElicitAction.ACCEPT, jsonObjectOf("people" to 4)), ElicitResult(ElicitAction.DECLINE)))
    val asked = mutableListOf<String>()
    val connecting =
        Client.connect(restaurant) {
            onElicit {
                asked += it.message
                answers.removeFirst()
            }
        }
    connecting.use { client ->
        for (expected in listOf("A table for 4 is booked.", "Nothing was booked.")) check(client.callTool("book").text == expected)
    }
    check(asked == List(2) { "A table for how many?" } && answers.isEmpty()) { "asked $asked" }
    println("all passed")
}
