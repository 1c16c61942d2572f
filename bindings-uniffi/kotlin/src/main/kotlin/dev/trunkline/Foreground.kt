package dev.trunkline

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import sun.misc.Signal
import sun.misc.SignalHandler
import kotlin.concurrent.thread

private val SIGNALS = listOf("INT", "TERM")

/** The functions that close the servers in the foreground: a signal calls all of them. */
private val closes = mutableSetOf<suspend () -> Unit>()

/** The signal handlers that ours replace. */
private val before = mutableMapOf<Signal, SignalHandler>()

/** True once a signal has begun to close the servers in the foreground. If the process exits now, it does so at once. */
@Volatile
internal var isEndedBySignal = false
    private set

/** Runs [serve] to its end. A signal or a cancellation calls [close]; a second signal has its default effect. */
internal suspend fun <T> endedBySignals(close: suspend () -> Unit, serve: suspend () -> T): T {
    synchronized(closes) {
        closes += close
        // Not with `-Xrs`, which leaves signals to the system, nor on Android or without the module `jdk.unsupported`.
        if (before.isEmpty()) runCatching { handleSignals() }
    }
    try {
        return serve()
    } catch (cancellation: CancellationException) {
        withContext(NonCancellable) { ignoringErrors(close) }
        throw cancellation
    } finally {
        synchronized(closes) {
            closes -= close
            if (closes.isEmpty()) {
                restore()
                isEndedBySignal = false
            }
        }
    }
}

private fun handleSignals() {
    val handler =
        SignalHandler {
            val closing =
                synchronized(closes) {
                    restore()
                    isEndedBySignal = true
                    closes.toList()
                }
            // On threads of their own: handlers may block all threads of a dispatcher.
            for (close in closing) thread(isDaemon = true) { runBlocking { ignoringErrors(close) } }
        }
    for (name in SIGNALS) {
        val signal = Signal(name)
        val own = Signal.handle(signal, handler)
        // Handlers of the JVM and of the system have a class of the JDK. The program keeps its own.
        if (own.javaClass.enclosingClass == Signal::class.java) before[signal] = own else Signal.handle(signal, own)
    }
}

private fun restore() {
    before.forEach { (signal, handler) -> Signal.handle(signal, handler) }
    before.clear()
}

/** A server that cannot be closed has ended. */
private suspend fun ignoringErrors(close: suspend () -> Unit) {
    try {
        close()
    } catch (error: TrunklineException) {
        logError("closing failed", error)
    }
}
