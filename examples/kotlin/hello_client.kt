// Starts the server on its class path and calls its tool.
@file:JvmName("HelloClient")

package hello

import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import dev.trunkline.text

suspend fun main() {
    val command = listOf("java", "-cp", System.getProperty("java.class.path"), "hello.HelloServer")
    Client.connect(command).use { client -> println(client.callTool("hello", jsonObjectOf("name" to "Ada")).text) }
}
