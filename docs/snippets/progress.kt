// A tool that reports progress, and a client that cancels another one.
package progress

import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import dev.trunkline.text
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.serialization.Serializable

@Serializable
class Job(val files: Int)

suspend fun main() {
    val started = CompletableDeferred<Unit>()
    val stopped = CompletableDeferred<Unit>()
    val files =
        server("files", "1.0.0") {
            tool<Job>("copy", "Copy files.") { job ->
                for (number in 1..job.files) progress(number.toDouble(), job.files.toDouble(), "file $number")
                "${job.files} files are copied."
            }
            tool("watch", "Watch a folder until the caller cancels.") {
                try {
                    started.complete(Unit)
                    awaitCancellation()
                } finally {
                    println("stopped watching")
                    stopped.complete(Unit)
                }
            }
        }

    Client.connect(files).use { client ->
        val copied =
            client.callTool("copy", jsonObjectOf("files" to 2)) {
                // Reports may be skipped if they arrive too fast, except the last.
                onProgress = {
                    if (it.progress == it.total) println("${it.progress.toInt()} of ${it.total.toInt()}: ${it.message}")
                }
            }
        println(copied.text)

        coroutineScope {
            val call = launch { client.callTool("watch") }
            started.await()
            call.cancelAndJoin()
        }
        stopped.await()
    }
}
