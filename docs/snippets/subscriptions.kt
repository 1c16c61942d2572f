// A client that is notified when a resource changes, and when the list of tools does.
package subscriptions

import dev.trunkline.Client
import dev.trunkline.SubscriptionFilter
import dev.trunkline.TextResourceContents
import dev.trunkline.server
import kotlinx.coroutines.flow.collectIndexed
import kotlinx.coroutines.flow.take

const val NOTE = "notes://today"

suspend fun main() {
    val texts = mutableListOf("Buy milk.")
    val notes = server("notes", "1.0.0") { resource("today", NOTE, "The note of today.") { texts.last() } }
    val clear =
        notes.tool("clear", "Forget all notes.") {
            texts.clear()
            "done"
        }

    Client.connect(notes).use { client ->
        client.subscribe(SubscriptionFilter(resources = listOf(NOTE), tools = true)).use { subscription ->
            texts += "Call Ada."
            notes.resourceUpdated(NOTE)
            subscription.changes.take(2).collectIndexed { number, change ->
                println(listOfNotNull(change.kind, change.uri).joinToString(" "))
                if (number == 0) {
                    println((client.readResource(NOTE).contents.first() as TextResourceContents).text)
                    clear.remove()
                }
            }
        }
    }
}
