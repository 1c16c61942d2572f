// Many servers behind one client. One of them fails to start; the others work.
package groups

import dev.trunkline.ClientGroup
import dev.trunkline.GroupTarget
import dev.trunkline.jsonObjectOf
import dev.trunkline.text

val NOTES = listOf("java", "-cp", System.getProperty("java.class.path"), "tutorialserver.TutorialServer")
val SERVERS = mapOf("notes" to GroupTarget(NOTES), "broken" to GroupTarget(listOf("no-such-program")))

suspend fun main() {
    // Or the path of an mcp.json.
    ClientGroup.connect(SERVERS).use { group ->
        for (server in group.servers()) println("${server.name}: ${if (server.error == null) "connected" else "failed"}")
        for (tool in group.listTools()) println(tool.name)
        println(group.callTool("notes__add_note", jsonObjectOf("name" to "groceries", "text" to "milk")).text)
    }
}
