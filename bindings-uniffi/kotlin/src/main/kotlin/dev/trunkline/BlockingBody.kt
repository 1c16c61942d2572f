package dev.trunkline

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.consumeAsFlow
import kotlinx.coroutines.flow.emptyFlow
import kotlinx.coroutines.flow.flowOf
import kotlinx.coroutines.launch
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withTimeoutOrNull
import java.io.IOException
import java.io.InputStream
import kotlin.time.Duration.Companion.seconds

/**
 * Passes the body of a request to [handle], which may write the response. Unless the body has arrived, another thread
 * reads it: the response may come first, as that of a refusal does. The rest is then read for a while, because a client
 * that is still sending loses the response if the connection is dropped. After that the read is interrupted, which ends
 * the connection of the JDK's web server; a container may ignore it until its own timeout. Nothing reads [stream] any
 * more once this returns: a container may use it for the next request.
 */
internal suspend fun <T> passingOn(stream: InputStream, length: Long?, handle: suspend (Flow<ByteArray>) -> T): T = coroutineScope {
    if (length == 0L) return@coroutineScope handle(emptyFlow())
    if (length != null && length <= minOf(stream.available(), CHUNK_BYTES)) {
        return@coroutineScope handle(flowOf(stream.readNBytes(length.toInt())))
    }
    val chunks = Channel<ByteArray>()
    val reading = launch(callbacks) { read(stream, chunks) }
    val handled = handle(chunks.consumeAsFlow())
    withTimeoutOrNull(REST_TIMEOUT) { reading.join() }
    reading.cancel()
    handled
}

private suspend fun read(stream: InputStream, chunks: Channel<ByteArray>) {
    val buffer = ByteArray(CHUNK_BYTES)
    try {
        while (true) {
            val read = runInterruptible { stream.read(buffer) }
            if (read < 0) break
            try {
                chunks.send(buffer.copyOf(read))
            } catch (_: CancellationException) {
                // The rest is not wanted.
                currentCoroutineContext().ensureActive()
            }
        }
        chunks.close()
    } catch (error: IOException) {
        chunks.close(error)
    }
}

private const val CHUNK_BYTES = 65_536

private val REST_TIMEOUT = 5.seconds
