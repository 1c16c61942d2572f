// A server that opens a database before the first call and closes it after the last.
package lifespan

import dev.trunkline.Client
import dev.trunkline.server
import dev.trunkline.text

// Stands for a pool of connections.
class Database(private val name: String) : AutoCloseable {
    init {
        println("$name opens")
    }

    fun count() = 7

    override fun close() = println("$name closes")
}

suspend fun main() {
    val orders =
        server("orders", "1.0.0", lifespan = { Database("orders") }) {
            tool("count", "Count the orders.") { lifespan<Database>().count() }
        }

    Client.connect(orders).use { client -> println(client.callTool("count").text) }
}
