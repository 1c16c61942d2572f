// A server with one tool, over stdio.
@file:JvmName("HelloServer")

package hello

import dev.trunkline.server
import kotlinx.serialization.Serializable

@Serializable
class Guest(val name: String)

suspend fun main() {
    val hello = server("hello", "1.0.0") { tool<Guest>("hello", "Greets someone.") { guest -> "Hello, ${guest.name}!" } }

    hello.serveStdio()
}
