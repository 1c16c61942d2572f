// A tool that only works in folders its client allows.
package roots

import dev.trunkline.Client
import dev.trunkline.Root
import dev.trunkline.server
import dev.trunkline.text

@Suppress("DEPRECATION")
suspend fun main() {
    val search =
        server("search", "1.0.0") {
            tool("folders", "Name the folders that may be searched.") { listRoots().joinToString { it.name ?: it.uri } }
        }

    val folders = listOf(Root("file:///home/ada/notes", name = "notes"), Root("file:///srv/wiki"))
    Client.connect(search) { roots = folders }.use { client -> println(client.callTool("folders").text) }
}
