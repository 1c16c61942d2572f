package dev.trunkline

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import sun.misc.Signal
import sun.misc.SignalHandler
import java.util.concurrent.atomic.AtomicBoolean

private val SIGNALS = listOf("INT", "TERM")

/** Runs [serve] to its end. A signal or a cancellation calls [close]; a second signal has its default effect. */
internal suspend fun <T> endedBySignals(close: suspend () -> Unit, serve: suspend () -> T): T {
    val isClosing = AtomicBoolean()
    val handlers = mutableMapOf<Signal, SignalHandler>()
    val restore = { handlers.forEach { (signal, handler) -> Signal.handle(signal, handler) } }
    for (name in SIGNALS) {
        val signal = Signal(name)
        val handler =
            SignalHandler {
                if (isClosing.compareAndSet(false, true)) {
                    restore()
                    // On the thread of the signal: handlers may block all threads of a dispatcher.
                    runBlocking { ignoringErrors(close) }
                }
            }
        try {
            handlers[signal] = Signal.handle(signal, handler)
        } catch (_: IllegalArgumentException) {
            // With `-Xrs`, the JVM leaves signals to the system.
        }
    }
    try {
        return serve()
    } catch (cancellation: CancellationException) {
        withContext(NonCancellable) { ignoringErrors(close) }
        throw cancellation
    } finally {
        if (!isClosing.get()) restore()
    }
}

/** What cannot be closed has ended. */
private suspend fun ignoringErrors(close: suspend () -> Unit) {
    try {
        close()
    } catch (cancellation: CancellationException) {
        throw cancellation
    } catch (error: TrunklineException) {
        logError("closing failed", error)
    }
}
