package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement
import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

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
) {
    /** The last call took less time than waking another thread does, and ended on the thread where it began. */
    @Volatile
    var isShort: Boolean = false
}

/** Shared by the calls of all features of a server. */
internal class Owner(
    dispatcher: CoroutineDispatcher,
    val onError: ((Throwable, Context) -> Unit)?,
    val lifespan: Lifespan?,
    /** Starts a short handler on the thread that has received its call; null if the program has chosen the threads. */
    val here: ((start: () -> Unit) -> Unit)? = { start: () -> Unit -> start() }.takeIf { dispatcher == Dispatchers.Default },
    /** Has as many threads as tasks. */
    private val unlimited: CoroutineDispatcher = callbacks,
) {
    /** Calls must not start on the thread of the port, unless they are short. */
    val dispatcher: CoroutineDispatcher = when {
        dispatcher == Dispatchers.Unconfined || dispatcher == unlimited -> unlimited
        else -> Turns(dispatcher)
    }

    /** For verifiers of access tokens, which do not wait for handlers: nobody knows yet whose turn it is. */
    val ofVerifiers: Owner get() = Owner(unlimited, onError, lifespan, here, unlimited)
}

/** The calls that are running, each as a coroutine. */
internal class Calls(private val core: NativePort) {
    /** A failed call does not affect others. */
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)
    private val running = ConcurrentHashMap<ULong, Running>()

    private class Running(val context: Context) {
        @Volatile
        private var job: Job? = null

        @Volatile
        private var cancellation: CallCancelled? = null

        /** Passes on a cancellation that may have arrived before. */
        fun begin(started: Job) {
            job = started
            cancellation?.let(started::cancel)
        }

        fun cancel(reason: String) {
            cancellation = CallCancelled(reason).also { job?.cancel(it) }
        }
    }

    /**
     * Runs the handler of a call with the elements of what caused it, and sends its answer. Returns what runs it, if that
     * is allowed on this thread.
     */
    fun start(event: Event, callable: Callable?, cause: CoroutineContext, mayReturnHandler: () -> Boolean): (() -> Unit)? {
        val ticket = event.ticket
        if (callable == null) {
            core.fail(ticket, failure("tool", "the handler was removed before the call ran").toString())
            return null
        }
        val context = Context(ticket, callable.owner)
        val traced = cause + (Port.telemetry?.ofCall(ticket) ?: EmptyCoroutineContext)
        val where = traced + (callable.owner?.dispatcher?.plus(context) ?: context)
        // In the table before it starts, so that it cannot end or be cancelled before.
        val call = Running(context).also { running[ticket] = it }
        val here = callable.owner?.here
        if (here != null && callable.isShort && mayReturnHandler()) {
            // Calls that arrive before this one is over run elsewhere.
            callable.isShort = false
            return { here { launch(CoroutineStart.UNDISPATCHED, where, event, callable, call) } }
        }
        launch(CoroutineStart.LAZY, where, event, callable, call).start()
        return null
    }

    private fun launch(start: CoroutineStart, where: CoroutineContext, event: Event, callable: Callable, call: Running): Job {
        val job = scope.launch(where, start) {
            // On this thread, it ends before `launch` returns.
            call.begin(coroutineContext.job)
            ensureActive()
            call.context.hasBegun = true
            answer(event, callable, call.context)
        }
        // On another one, it does not start if it was cancelled.
        call.begin(job)
        job.invokeOnCompletion { ended(event, callable, call.context, it) }
        return job
    }

    private fun ended(event: Event, callable: Callable, context: Context, cause: Throwable?) {
        running.remove(event.ticket)
        // The dispatcher has not run it, for example because it is closed.
        if (context.isOpen) runCatching { core.fail(event.ticket, failure("internal", "${callable.name} did not run: $cause").toString()) }
    }

    /** Cancels the coroutine of a call. The core has already answered it. */
    fun cancel(ticket: ULong, reason: String) {
        running[ticket]?.cancel(reason)
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
            val answer = timed(callable) { callable.run(context, json.parseToJsonElement(event.body.decodeToString())) }
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

    private inline fun <T> timed(callable: Callable, run: () -> T): T {
        val (thread, began) = Thread.currentThread() to System.nanoTime()
        try {
            return run()
        } finally {
            callable.isShort = Thread.currentThread() === thread && System.nanoTime() - began < SHORT_NS
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

/** About what it takes to wake another thread. */
private const val SHORT_NS = 50_000

private val NO_FRAMES = emptyArray<StackTraceElement>()
