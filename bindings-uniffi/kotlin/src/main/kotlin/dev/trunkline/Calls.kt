package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement
import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext
import dev.trunkline.internal.Port as NativePort

/** Calls a handler with the body of the call. */
internal typealias Handler = suspend Context.(JsonElement) -> Answer

/** Answers the calls of a feature, or the requests of a server. */
internal class Callable(
    /** The feature, for errors. */
    val name: String,
    /** The server; null for handlers of a client. */
    val owner: Owner? = null,
    /** The name of the tool; null for other features. */
    val tool: String? = null,
    val run: Handler,
)

/** Shared by the calls of all features of a server. */
internal class Owner(dispatcher: CoroutineDispatcher, val onError: ((Throwable, Context) -> Unit)?, val lifespan: Lifespan?) {
    /** Calls must not start on the thread of the port. */
    val dispatcher = if (dispatcher == Dispatchers.Unconfined) callbacks else dispatcher
}

/** The calls that are running, each as a coroutine. */
internal class Calls(private val core: NativePort) {
    /** A failed call does not affect others. */
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    private val running = ConcurrentHashMap<ULong, Running>()

    private class Running(val job: Job, val context: Context)

    /** Runs the handler of a call with the elements of what caused it, and sends its answer. */
    fun start(event: Event, callable: Callable?, cause: CoroutineContext) {
        val ticket = event.ticket
        if (callable == null) {
            core.fail(ticket, failure("tool", "the handler was removed before the call ran").toString())
            return
        }
        val context = Context(ticket, callable.owner)
        val traced = cause + (Port.telemetry?.ofCall(ticket) ?: EmptyCoroutineContext)
        val where = traced + (callable.owner?.dispatcher?.plus(context) ?: context)
        // In the table before it starts, so that it cannot end before.
        val job = scope.launch(where, CoroutineStart.LAZY) { answer(event, callable, context) }
        running[ticket] = Running(job, context)
        job.invokeOnCompletion {
            running.remove(ticket)
            // The dispatcher has not run it, for example because it is closed.
            if (context.isOpen) runCatching { core.fail(ticket, failure("internal", "${callable.name} did not run: $it").toString()) }
        }
        job.start()
    }

    /** Cancels the coroutine of a call. The core has already answered it. */
    fun cancel(ticket: ULong, reason: String) {
        running[ticket]?.job?.cancel(CallCancelled(reason))
    }

    /** Returns whether a handler is in [System.exit], which waits for the shutdown hooks. */
    fun areExiting(): Boolean {
        if (running.isEmpty()) return false
        // Of virtual threads, there is no list.
        return running.values.any { isExiting(it.context.thread?.stackTrace ?: NO_FRAMES) } ||
            Thread.getAllStackTraces().values.any { frames ->
                isExiting(frames) && frames.any { it.className.startsWith("kotlinx.coroutines.") }
            }
    }

    private fun isExiting(frames: Array<StackTraceElement>) = frames.any { it.className == "java.lang.Runtime" && it.methodName == "exit" }

    private suspend fun answer(event: Event, callable: Callable, context: Context) {
        try {
            val answer = callable.run(context, json.parseToJsonElement(event.body.decodeToString()))
            context.isOpen = false
            if (!native { core.complete(event.ticket, answer.shape, answer.body) }) answer.ifLate()
        } catch (thrown: Throwable) {
            context.isOpen = false
            try {
                fail(event.ticket, callable, context, thrown)
            } catch (error: Throwable) {
                // Its message or data cannot be sent.
                runCatching { core.fail(event.ticket, failure("internal", describe(error)).toString()) }
            }
        }
    }

    private fun fail(ticket: ULong, callable: Callable, context: Context, thrown: Throwable) {
        if (thrown is CallCancelled || core.cancelled(ticket)) return
        val failure = failureOf(thrown)
        val hidden = thrown !is Suspended && failure.string("kind") == "internal"
        if (hidden) {
            val target = if (callable.owner == null) "trunkline::client" else "trunkline::server"
            logError("${callable.name} failed", thrown, target, callable)
            callBack("onError") { callable.owner?.onError?.invoke(thrown, context) }
        }
        native { core.fail(ticket, failure.with("logged" to true.takeIf { hidden }).toString()) }
    }
}

private val NO_FRAMES = emptyArray<StackTraceElement>()
