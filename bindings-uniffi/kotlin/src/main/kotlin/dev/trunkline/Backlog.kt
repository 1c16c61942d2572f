package dev.trunkline

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.receiveAsFlow
import java.util.concurrent.atomic.AtomicLong

/** A notification, and the size of its name and body in the message, in bytes. */
internal class Received(val notification: Notification, val bytes: Long)

/** Notifications for a handler or a collector that may be slow. They are added one at a time. */
internal class Backlog {
    private val waiting = Channel<Received>(MAX_COUNT)
    private val bytes = AtomicLong()

    /** Takes them, until the end. */
    val taken: Flow<Received> = waiting.receiveAsFlow().onEach { bytes.addAndGet(-it.bytes) }

    /** Adds a notification, unless too many are waiting. */
    fun add(received: Received) {
        val before = bytes.getAndAdd(received.bytes)
        // A single one is always kept, because messages have their own limit.
        if (before == 0L || before + received.bytes <= MAX_BYTES) {
            val added = waiting.trySend(received)
            if (added.isSuccess || added.isClosed) return
        }
        bytes.addAndGet(-received.bytes)
        receive(LogRecord("warn", "dropped a notification: they arrived faster than they were handled", "trunkline::client"))
    }

    fun close() {
        waiting.close()
    }

    private companion object {
        const val MAX_COUNT = 10_000
        const val MAX_BYTES = 4 shl 20
    }
}
