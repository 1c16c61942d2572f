package dev.trunkline

import dev.trunkline.internal.Event
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit.MILLISECONDS
import kotlin.concurrent.thread

/**
 * The threads of a port. One of them receives events, and another stands by. A handler runs on its dispatcher, unless it
 * was short the last time: then it runs on the thread that has received its call, because waking another one takes longer.
 * If it is not short this time, the thread that stands by receives the next events. Events are received one by one,
 * because those of a batch would wait for the handlers before them.
 *
 * [receive] handles an event. It returns a handler to run on the same thread, if its second argument allows that.
 */
internal class Receivers(private val core: NativePort, private val receive: (Event, () -> Boolean) -> (() -> Unit)?) {
    private val receiving = Semaphore(1)
    private val standingBy = Semaphore(1)
    private val ended = CountDownLatch(1)

    fun start(): Unit = begin {}

    /** Waits until the last event has been received, and no thread is in native code. Handlers may still run. */
    fun join(timeoutMs: Long) {
        if (ended.await(timeoutMs, MILLISECONDS)) standingBy.tryAcquire(timeoutMs, MILLISECONDS)
        ended.countDown()
    }

    private fun begin(work: () -> Unit) {
        thread(isDaemon = true, name = "trunkline") {
            work()
            attend()
        }
    }

    private fun attend() {
        while (ended.count > 0) {
            when {
                receiving.tryAcquire() -> receiveEvents()
                standingBy.tryAcquire() -> standBy()
                else -> return
            }
        }
    }

    /** Stands by until this thread can receive events, and does so. */
    private fun standBy() {
        try {
            do {
                core.standBy(GRACE_US, POLL_TIMEOUT_MS)
                // The thread that receives may only be busy.
            } while (ended.count > 0 && !receiving.tryAcquire(RETRY_DELAY_MS, MILLISECONDS))
        } finally {
            standingBy.release()
        }
        if (ended.count > 0) receiveEvents()
    }

    /** Receives events until another thread does. */
    private fun receiveEvents() {
        while (true) {
            for (event in drained()) {
                if (event.kind == EventKind.STOPPED) return ended.countDown()
                val handler = receive(event, isWatched) ?: continue
                receiving.release()
                handler()
                // An interrupt was meant for the handler.
                Thread.interrupted()
                if (!receiving.tryAcquire()) return
            }
        }
    }

    /** True if another thread stands by. */
    private val isWatched = {
        !standingBy.tryAcquire() ||
            try {
                begin(::standBy)
                true
            } catch (_: OutOfMemoryError) {
                // There are too many threads.
                standingBy.release()
                false
            }
    }

    private fun drained(): List<Event> = try {
        core.drain(1u, POLL_TIMEOUT_MS.toUInt())
    } catch (error: Throwable) {
        // Such as OutOfMemoryError. Other callers of the process still wait for later events.
        logError("an event was lost", error)
        Thread.sleep(LOSS_DELAY_MS)
        emptyList()
    }

    private companion object {
        const val POLL_TIMEOUT_MS = 3_600_000

        /** How long events wait for the handlers before them. Waking a thread takes longer than most of these. */
        const val GRACE_US = 1_000
        const val RETRY_DELAY_MS = 1L
        const val LOSS_DELAY_MS = 100L
    }
}
