// The bench server in Kotlin: server stdio | http PORT [json] [stateless] [features] [--tools N]
// [--store URL] [--auth FILE]
@file:JvmName("Server")

package bench.kotlin

import dev.trunkline.AuthOptions
import dev.trunkline.Context
import dev.trunkline.Server
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import java.io.File

@Serializable
class Message(val message: String)

@Serializable
class Numbers(val a: Long, val b: Long)

@Serializable
class Answer(val value: String)

suspend fun main(args: Array<String>) {
    // Messages of `grow-bytes` are longer than the default allows.
    val options: dev.trunkline.ServerOptions.() -> Unit = {
        maxMessageBytes = 128L shl 20
        store = args.valueOf("--store")
    }
    val bench =
        server("bench", "0.0.0", options = options) {
            tool<Message>("echo", "Echo the message back") { it.message }
            tool<Numbers>("add", "Add two integers", handler = ::add)
            repeat(args.valueOf("--tools")?.toInt() ?: 0) {
                tool<Numbers>("tool_%03d".format(it), "Generated tool number $it", handler = ::add)
            }
            if ("features" in args) addFeatures()
        }
    if (args.first() == "stdio") return bench.serveStdio()
    bench.serveHttp(args.valueOf("--auth")?.let(::authFrom)) {
        port = args[1].toInt()
        json = "json" in args
        stateless = "stateless" in args
    }
}

private suspend fun add(context: Context, given: Numbers): String = "${given.a + given.b}"

private fun Server.addFeatures() {
    tool<Message>("report", "Report progress, then echo the message back") {
        for (number in 1..20) progress(number.toDouble(), 20.0)
        it.message
    }
    tool<Message>("ask", "Ask the user") { elicit<Answer>(it.message).content?.value ?: "no answer" }
    val names = List(100) { "f%02d".format(it) }
    val properties = names.associateWith { mapOf("type" to "integer") }
    val wide = jsonObjectOf("type" to "object", "properties" to properties, "required" to names)
    tool("wide", "Add 100 integers", wide) { given -> "${given.values.sumOf { it.jsonPrimitive.long }}" }
}

/** The access tokens from a file (tests/matrix/authorization.json). */
private fun authFrom(file: String): AuthOptions {
    val given = Json.parseToJsonElement(File(file).readText()).jsonObject.getValue("auth").jsonObject
    return AuthOptions().apply {
        resource = given.getValue("resource").jsonPrimitive.content
        issuer = listOf(given.getValue("issuer").jsonPrimitive.content)
        jwks = given.getValue("jwks").jsonObject
    }
}

private fun Array<String>.valueOf(option: String): String? = indexOf(option).takeIf { it >= 0 }?.let { get(it + 1) }
