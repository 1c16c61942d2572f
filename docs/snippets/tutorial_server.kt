// Notes that a model can write and read. Serves stdio; given a port, HTTP.
@file:JvmName("TutorialServer")

package tutorialserver

import dev.trunkline.Description
import dev.trunkline.PromptArgument
import dev.trunkline.ToolException
import dev.trunkline.server
import kotlinx.serialization.Serializable
import java.util.concurrent.ConcurrentHashMap

@Serializable
class Note(@Description("A single word, such as groceries.") val name: String, @Description("The note.") val text: String)

suspend fun main(args: Array<String>) {
    val texts = ConcurrentHashMap<String, String>()
    val notes =
        server("notes", "1.0.0", instructions = "Keeps short notes for the user.") {
            tool<Note>("add_note", "Save a note under a name.") { note ->
                if (texts.putIfAbsent(note.name, note.text) != null) {
                    throw ToolException("A note named ${note.name} already exists: choose another name.")
                }
                resourceUpdated("notes://all")
                "Saved ${note.name}."
            }
            resource("all", "notes://all", "All notes.", "text/markdown") {
                texts.entries.joinToString("\n") { (name, text) -> "- $name: $text" }
            }
            prompt("plan", "Plan a day with the notes.", listOf(PromptArgument("day", required = true))) {
                "Read notes://all and plan ${it["day"]} accordingly."
            }
        }

    if (args.isEmpty()) notes.serveStdio() else notes.serveHttp { port = args.first().toInt() }
}
