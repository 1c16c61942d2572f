package dev.trunkline.jvm

import dev.trunkline.Answer
import dev.trunkline.Context
import dev.trunkline.Failed
import dev.trunkline.Handler
import dev.trunkline.LogRecord
import dev.trunkline.RequestCancelledException
import dev.trunkline.RequestOptions
import dev.trunkline.Shape
import dev.trunkline.Suspended
import dev.trunkline.TrunklineException
import dev.trunkline.callbacks
import dev.trunkline.decoded
import dev.trunkline.encoded
import dev.trunkline.jsonOf
import dev.trunkline.logError
import dev.trunkline.logger
import dev.trunkline.objectOf
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.asContextElement
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import java.util.concurrent.Callable
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Executor
import java.util.concurrent.RejectedExecutionException
import java.util.function.BiConsumer
import java.util.function.Consumer
import java.util.function.Function
import java.util.function.Supplier
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

// The foundation of the package for Java: JSON as plain values, futures and threads.

/** The entry point. [errorOf] converts an error object of the core to an exception. */
@JvmSuppressWildcards
internal class Jvm(private val errorOf: Function<Map<String, Any?>, RuntimeException>) {
    /** Completes futures, whose dependents may block. */
    private val scope = CoroutineScope(SupervisorJob() + callbacks)

    /**
     * Starts work on this thread, up to its first wait. Cancelling the future cancels the work. A result that arrives
     * at that moment is passed to [drop].
     */
    internal fun <T> future(drop: (T) -> Unit = {}, work: suspend (CompletableFuture<T>) -> T): CompletableFuture<T> {
        val future = CompletableFuture<T>()
        val job = scope.launch(carried(), CoroutineStart.UNDISPATCHED) {
            try {
                val result = converting { work(future) }
                if (!future.complete(result)) drop(result)
            } catch (error: Throwable) {
                future.completeExceptionally(error)
            }
        }
        future.whenComplete { _, _ -> job.cancel() }
        return future
    }

    /** Runs work on this thread. An interrupt cancels it. */
    internal fun <T> blocking(work: suspend () -> T): T = converting {
        try {
            runBlocking(carried()) { work() }
        } catch (_: InterruptedException) {
            Thread.currentThread().interrupt()
            throw RequestCancelledException("the thread was interrupted")
        }
    }

    internal inline fun <T> converting(work: () -> T): T = try {
        work()
    } catch (error: TrunklineException) {
        throw convert(error)
    }

    internal fun convert(error: TrunklineException): RuntimeException {
        val converted = errorOf.apply(members(error.origin ?: objectOf("kind" to error.kind, "message" to error.message)))
        error.suppressed.firstOrNull()?.let(converted::initCause)
        return converted
    }

    public companion object {
        private val locals = CopyOnWriteArrayList<ThreadLocal<Any?>>()

        /** Gives tasks to an executor on another thread than that of the port, because it may run them at once. */
        @JvmStatic
        public fun apart(executor: Executor): Executor = Apart(Threads(executor))

        /** Makes the values of a thread-local follow requests to the threads of their handlers. */
        @JvmStatic
        public fun carry(local: ThreadLocal<*>) {
            @Suppress("UNCHECKED_CAST")
            locals.addIfAbsent(local as ThreadLocal<Any?>)
        }

        /** Returns the exception of a handler whose failure is described by [failure], a message for the core. */
        @JvmStatic
        public fun failed(failure: Map<String, Any?>, cause: Throwable): Exception = Failed(objectFrom(failure), cause)

        /** Returns whether this suspends a handler, which runs again with the response of its client. */
        @JvmStatic
        public fun isSuspended(thrown: Throwable): Boolean = thrown is Suspended

        /** Receives the records of the library's log, with their fields. */
        @JvmStatic
        @JvmSuppressWildcards
        public fun setLogger(receive: BiConsumer<LogRecord, Map<String, Any?>>) {
            logger = { receive.accept(it, members(it.fields)) }
        }

        private fun carried(): CoroutineContext = locals.fold<ThreadLocal<Any?>, CoroutineContext>(EmptyCoroutineContext) { all, local ->
            all + local.asContextElement(local.get())
        }
    }
}

/** Answers a call on a thread, which is interrupted when the call is cancelled. */
@JvmSuppressWildcards
internal fun interface JvmHandler {
    @Throws(Exception::class)
    public fun handle(call: JvmCall, body: Any?): JvmAnswer
}

/** A function of a transport, a store or a client, on objects. */
@JvmSuppressWildcards
internal fun interface JvmFunction {
    @Throws(Exception::class)
    public fun call(members: Map<String, Any?>): Map<String, Any?>
}

/** The answer of a call, of a shape from [Shape]. */
internal class JvmAnswer(shape: Byte, value: Any?) {
    internal val answer = Answer(shape.toUByte(), if (shape == Shape.TEXT.toByte()) value as String else jsonOf(value).toString())
}

private class Apart(private val threads: Threads) : Executor {
    override fun execute(task: java.lang.Runnable) {
        callbacks.dispatch(EmptyCoroutineContext) { threads.dispatch(EmptyCoroutineContext, task) }
    }
}

/** The threads of handlers. If the executor fails, a task runs on a thread of the library. */
internal class Threads(private val executor: Executor) : CoroutineDispatcher() {
    /** True for the threads of the library: there are as many as tasks. */
    val areUnlimited: Boolean = executor !is Apart

    /** Runs a task on this thread; null if the program has chosen the threads. */
    val here: ((() -> Unit) -> Unit)? = this::enter.takeIf { areUnlimited }

    /** The program's class loader. A virtual thread would inherit that of the library's thread. */
    private val loader: ClassLoader? = Thread.currentThread().contextClassLoader

    override fun dispatch(context: CoroutineContext, block: Runnable) {
        val task = Runnable { enter(block::run) }
        try {
            executor.execute(task)
        } catch (error: Throwable) {
            if (error !is RejectedExecutionException) logError("the executor failed", error)
            Dispatchers.IO.dispatch(context, task)
        }
    }

    private fun enter(block: () -> Unit) {
        val thread = Thread.currentThread()
        val before = thread.contextClassLoader
        thread.contextClassLoader = loader
        try {
            block()
        } finally {
            thread.contextClassLoader = before
        }
    }
}

/** Opens something. Returns it even if it was cancelled meanwhile, when [withContext] drops its value. */
internal suspend fun Threads.opened(open: Callable<*>): Any? {
    var opened: Any? = null
    try {
        withContext(this) { runInterruptible { opened = open.call() } }
    } catch (cancellation: CancellationException) {
        if (opened == null) throw cancellation
    }
    return opened
}

internal fun Jvm.running(handler: JvmHandler): Handler = { body: JsonElement ->
    val context: Context = this
    val surroundings = currentCoroutineContext()[Surroundings]
    runInterruptible {
        context.thread = Thread.currentThread()
        val handle = { handler.handle(JvmCall(this@running, context, surroundings), plain(body)) }
        if (surroundings == null) handle() else surroundings.around(handle)
    }.answer
}

/** Runs tasks with what the program captures on the thread that creates this, such as its logging context. */
internal class Surroundings(private val capture: Supplier<Consumer<Runnable>>) : AbstractCoroutineContextElement(Key) {
    private val run = capture.get()

    fun <T : Any> around(work: () -> T): T {
        var result: T? = null
        run.accept { result = work() }
        return checkNotNull(result) { "the task decorator did not run its task" }
    }

    /** The context of this thread, which has entered this one. What is captured may be unable to run on two threads at once. */
    fun again(inner: Consumer<Runnable>?) = Surroundings {
        val outer = capture.get()
        if (inner == null) outer else Consumer { task -> outer.accept { inner.accept(task) } }
    }

    companion object Key : CoroutineContext.Key<Surroundings>
}

internal fun Threads.running(functions: Map<String, JvmFunction>): Map<String, suspend (JsonObject) -> JsonObject> =
    functions.mapValues { (_, function) ->
        { body -> withContext(this) { runInterruptible { objectFrom(function.call(members(body))) } } }
    }

/** Options of a request, and what receives its progress. */
internal fun requestOptions(options: Map<String, Any?>?, progress: Consumer<Map<String, Any?>>? = null): RequestOptions? {
    if (options.isNullOrEmpty() && progress == null) return null
    val given: RequestOptions = decoded(objectFrom(options.orEmpty()))
    given.meta = options?.get("_meta")?.let { jsonOf(it) as JsonObject }
    if (progress != null) given.onProgress = { progress.accept(members(encoded(it))) }
    return given
}
