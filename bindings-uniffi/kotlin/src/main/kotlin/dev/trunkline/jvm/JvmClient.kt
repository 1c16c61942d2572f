package dev.trunkline.jvm

import dev.trunkline.ClientOptions
import dev.trunkline.Connection
import dev.trunkline.Context
import dev.trunkline.Port
import dev.trunkline.Stream
import dev.trunkline.TrunklineException
import dev.trunkline.callBack
import dev.trunkline.decoded
import dev.trunkline.encoded
import dev.trunkline.jsonOf
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.coroutines.yield
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import java.util.concurrent.Callable
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executor
import java.util.function.BiConsumer
import java.util.function.Consumer
import java.util.function.Function
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.time.Duration.Companion.milliseconds

/** The call that a handler answers. */
@JvmSuppressWildcards
internal class JvmCall internal constructor(
    private val jvm: Jvm,
    private val context: Context,
    private val surroundings: Surroundings? = null,
) {
    public fun describe(): Map<String, Any?> = jvm.converting { members(Port.describe(context.ticket)) }

    /** The value of the server's lifespan. */
    public fun lifespan(): Any? = context.opened()

    /** Sends a request to the client. */
    public fun request(
        method: String,
        params: Map<String, Any?>,
        options: Map<String, Any?>?,
        progress: Consumer<Map<String, Any?>>?,
    ): CompletableFuture<Any?> = jvm.future {
        plain(context.requester.request(method, objectFrom(params), requestOptions(options, progress)))
    }

    /** Sends a message about the call. Has no effect once the call is answered. */
    public fun tell(message: Map<String, Any?>): Unit = jvm.converting { context.tell(objectFrom(message)) }

    /** Runs work once per request, on this thread. */
    public fun once(name: String, work: Callable<Any?>): Any? =
        plain(jvm.blocking { context.once(name, JsonElement.serializer()) { jsonOf(work.call()) } })

    /** Runs the rest of a request, for middleware, and its handlers within [around]. */
    public fun proceed(params: Map<String, Any?>?, around: Consumer<Runnable>?): Map<String, Any?> {
        val inner = surroundings?.again(around) ?: around?.let { Surroundings { it } }
        return members(
            jvm.blocking { withContext(inner ?: EmptyCoroutineContext) { context.proceed(params?.let(::objectFrom)) } },
        )
    }
}

/** A connection. */
@JvmSuppressWildcards
internal class JvmClient private constructor(private val jvm: Jvm, private val connection: Connection, private val threads: Threads) {
    public val handle: Long get() = connection.handle.toLong()

    public val isOpen: Boolean get() = connection.isOpen

    /** The description of the server. */
    public fun describe(): Map<String, Any?> = members(encoded(connection.described))

    public fun request(
        method: String,
        params: Any?,
        options: Map<String, Any?>?,
        progress: Consumer<Map<String, Any?>>?,
    ): CompletableFuture<Any?> = jvm.future {
        plain(connection.send(method, params?.let(::jsonOf), requestOptions(options, progress)))
    }

    public fun notify(method: String, params: Map<String, Any?>): Unit = jvm.converting { connection.notify(method, objectFrom(params)) }

    /** Passes all notifications on, until the returned object is closed. */
    public fun notifications(receive: BiConsumer<String, Map<String, Any?>>): AutoCloseable {
        val scope = CoroutineScope(threads)
        // The collector listens when this returns.
        scope.launch(start = CoroutineStart.UNDISPATCHED) {
            connection.notifications.collect { callBack("onNotification") { receive.accept(it.method, members(it.params)) } }
        }
        return AutoCloseable { scope.cancel() }
    }

    /** Sends a message about the connection. */
    public fun tell(message: Map<String, Any?>): Unit = jvm.converting { Port.notify(connection.handle, objectFrom(message)) }

    /** Opens a stream of items: a subscription, or the states of a task. */
    public fun stream(method: String, params: Map<String, Any?>): CompletableFuture<JvmStream> =
        jvm.future(JvmStream::close) { JvmStream(jvm, connection.stream(method, objectFrom(params), null)) }

    public fun close(deadlineMs: Long?): Unit = jvm.blocking { connection.close(deadlineMs?.milliseconds) }

    /** Waits for the end of the connection. */
    public fun join(): CompletableFuture<RuntimeException?> = jvm.future {
        connection.join()?.let { if (it is TrunklineException) jvm.convert(it) else it }
    }

    public companion object {
        /** Opens a connection, and makes a client of it. [requests] are by the core's names of the operations, and [notifications] by method. */
        @JvmStatic
        public fun <T : AutoCloseable> open(
            jvm: Jvm,
            executor: Executor,
            transport: Map<String, Any?>,
            auth: Map<String, Any?>?,
            options: Map<String, Any?>,
            requests: Map<String, JvmFunction>,
            notifications: Map<String, Consumer<Map<String, Any?>>>,
            functions: Map<String, JvmFunction>,
            server: JvmServer?,
            make: Function<JvmClient, T>,
        ): CompletableFuture<T> = jvm.future(AutoCloseable::close) {
            val given: ClientOptions = decoded(objectFrom(options))
            val threads = Threads(executor)
            given.requestHandlers += threads.running(requests)
            given.notificationHandlers +=
                notifications.mapValues { (_, handler) -> { params: JsonObject -> handler.accept(members(params)) } }
            val connection =
                Connection.open(objectFrom(transport), auth?.let(::objectFrom), given, server?.server, threads.running(functions), threads)
            make.apply(JvmClient(jvm, connection, threads))
        }
    }
}

/** An open stream: its result, its items, and requests about it. */
@JvmSuppressWildcards
internal class JvmStream internal constructor(private val jvm: Jvm, private val stream: Stream) {
    public val result: Any? get() = plain(stream.result)

    /** Futures wait for their items in turn. */
    private val turns = Mutex()

    /** The last item, and the future that it is for. */
    private var last: Pair<CompletableFuture<*>, Any?>? = null

    /** The next item, converted; null once the stream has ended. That of a cancelled future is for the next one. */
    public fun <T> next(convert: Function<Any?, T>): CompletableFuture<T?> = jvm.future { future ->
        turns.withLock {
            // The last future completes, or has been cancelled, right after its turn.
            while (last?.first?.isDone == false) yield()
            @Suppress("UNCHECKED_CAST")
            val missed = last?.takeIf { it.first.isCompletedExceptionally }?.second as T?
            (missed ?: stream.next()?.let { convert.apply(plain(it)) }).also { last = future to it }
        }
    }

    public fun request(method: String, params: Any?, options: Map<String, Any?>?): CompletableFuture<Any?> =
        jvm.future { plain(stream.request(method, params?.let(::jsonOf), requestOptions(options))) }

    public fun close(): Unit = stream.close()
}
