// The bench client in Kotlin: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL
//
// With INFLIGHT `resource`, it reads a resource N times.
@file:JvmName("Client")

package bench.kotlin

import dev.trunkline.BlobResourceContents
import dev.trunkline.Client
import dev.trunkline.ClientOptions
import dev.trunkline.RevisionChoice
import dev.trunkline.jsonObjectOf
import dev.trunkline.text
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/** Characters of base64 in the resource. */
private const val BLOB_LENGTH = 16 shl 20

suspend fun main(args: Array<String>) {
    val (calls, inFlight) = args
    val options: ClientOptions.() -> Unit = { revision = RevisionChoice.V2025_11_25 }
    val connecting = if (args[2] == "--") Client.connect(args.drop(3), options = options) else Client.connect(args[2], options = options)
    connecting.use { client ->
        if (inFlight != "resource") repeat(200) { call(client, it) }
        println("READY")
        readln()
        if (inFlight == "resource") {
            repeat(calls.toInt()) { read(client) }
        } else {
            callConcurrently(client, calls.toInt(), inFlight.toInt())
        }
        println("DONE")
        while (readlnOrNull() != null) continue
    }
}

private suspend fun callConcurrently(client: Client, calls: Int, inFlight: Int) = withContext(Dispatchers.Default) {
    coroutineScope {
        for (first in 0 until inFlight) launch { for (number in first until calls step inFlight) call(client, number) }
    }
}

private suspend fun call(client: Client, number: Int) {
    val text = client.callTool("echo", jsonObjectOf("message" to "m$number")).text
    check(text == "m$number") { "wrong text: $text" }
}

private suspend fun read(client: Client) {
    val contents = client.readResource("bench:blob").contents.first() as BlobResourceContents
    check(contents.blob.length == BLOB_LENGTH) { "wrong contents" }
}
