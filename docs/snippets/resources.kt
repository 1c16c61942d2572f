// A resource, a resource template, and a client that reads both.
package resources

import dev.trunkline.Client
import dev.trunkline.ProtocolException
import dev.trunkline.TextResourceContents
import dev.trunkline.server

val NOTES = mapOf("today" to "Buy milk.", "friday" to "Call Ada.")

suspend fun main() {
    val notes =
        server("notes", "1.0.0") {
            resource("index", "notes://index", "The names of all notes.", "text/plain") { NOTES.keys.joinToString() }
            resource("note", "notes://by-name/{name}", "One note.", "text/plain") { NOTES[it["name"]] }
        }

    Client.connect(notes).use { client ->
        for (resource in client.listResources()) println("${resource.uri} ${resource.mimeType}")
        for (template in client.listResourceTemplates()) println(template.uriTemplate)
        for (uri in listOf("notes://index", "notes://by-name/friday")) {
            println((client.readResource(uri).contents.first() as TextResourceContents).text)
        }
        try {
            client.readResource("notes://by-name/monday")
        } catch (error: ProtocolException) {
            println("${error.kind.name.lowercase()} ${error.code}")
        }
    }
}
