package dev.trunkline

import dev.trunkline.internal.Event
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.emptyFlow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.takeWhile
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.Serializable
import java.util.concurrent.ConcurrentHashMap
import kotlin.time.Duration

/** A request that a web server passes to an [HttpEndpoint]. */
public class HttpRequest(
    /** The method, such as `POST`. */
    public val method: String,
    /** The path as received, percent-encoded. */
    public val path: String,
    /** Names and values of the headers, with a character per byte. In HTTP/2, pass `:authority` as `host`. */
    public val headers: List<Pair<String, String>>,
    /** The body, in chunks. Its collection is cancelled if the response comes before its end, as that of a refusal does. */
    public val body: Flow<ByteArray> = emptyFlow(),
    /** The query as received, without its question mark. */
    public val query: String? = null,
    /** The IP address of the peer. */
    public val remoteAddress: String? = null,
)

/** The response to an [HttpRequest]. It must be closed, or its [body] collected. */
public class HttpResponse internal constructor(
    private val exchange: Exchange,
    /** The status, such as 200. */
    public val status: Int,
    /** The names and values of the headers. A name may occur more than once. */
    public val headers: List<Pair<String, String>>,
    /** True if there is no body. */
    public val isEmpty: Boolean,
) : AutoCloseable {
    /**
     * The body, in chunks, which can be collected once. Streams end with their call or subscription. If the collector
     * ends earlier, the request is cancelled. If it is suspended for longer than the option `writeTimeout` with one
     * chunk, its client reads nothing, and it is cancelled as well.
     *
     * @throws TrunklineException if the response is truncated. Drop the connection then, so that the client notices.
     */
    public val body: Flow<ByteArray> = exchange.body()

    /** Cancels the request if the response has not ended. Call this when the client has disconnected. */
    override fun close(): Unit = exchange.close()
}

/**
 * A server in the program's own web server: pass the requests of a path to [handle]. It opens with the first request,
 * and again after [close].
 */
public class HttpEndpoint internal constructor(internal val writeTimeout: Duration, private val open: suspend () -> OpenHandle) {
    private val opening = Mutex()
    private var opened: OpenHandle? = null

    /**
     * Handles a request: returns the response as soon as its headers are known. The calls that the request leads to
     * inherit the elements of the coroutine's context. If the coroutine is cancelled, so is the request.
     */
    public suspend fun handle(request: HttpRequest): HttpResponse = begin(request).response()

    /** Passes on a request, until the end of its body or the beginning of its response. */
    internal suspend fun begin(request: HttpRequest): Exchange {
        val listener = opening.withLock { opened?.takeIf { it.isOpen } ?: open().also { opened = it } }
        return Exchange(writeTimeout).also { it.begin(listener.handle, request) }
    }

    /**
     * Serves in the foreground, until SIGINT or SIGTERM arrives: it then closes, and calls in flight may complete within
     * `drainDeadline` of the server. A second signal ends the process at once.
     */
    public suspend fun run() {
        val end = CompletableDeferred<Unit>()
        endedBySignals({
            try {
                close()
            } finally {
                end.complete(Unit)
            }
        }) { end.await() }
    }

    /**
     * Closes it. Requests in flight get [deadline] (by default, all but the last fifth of the server's
     * `drainDeadline`).
     */
    public suspend fun close(deadline: Duration? = null) {
        opening.withLock { opened }?.close(deadline)
    }
}

/** A request on its way through the core, and its response. The core's credit bounds what is waiting here. */
internal class Exchange(private val writeTimeout: Duration) {
    private val received = Channel<Event>(Channel.UNLIMITED)

    @Volatile
    private var ticket = NONE

    @Volatile
    private var hasEnded = false

    /** The first event, if it came while the body was passed on. */
    private var first: Event? = null

    /** True once all of the body was passed on. Otherwise the response does not wait for it. */
    @Volatile
    var isPassed: Boolean = false
        private set

    /** On the thread of the port. */
    fun receive(event: Event) {
        if (event.kind == EventKind.HTTP_END) hasEnded = true
        received.trySend(event)
    }

    fun fail(error: InternalException) {
        close()
        received.close(error)
    }

    /** Passes on a request. Its response may begin before the end of its body. */
    suspend fun begin(listener: ULong, request: HttpRequest): Unit = closedOnFailure {
        Responding.begin(this)
        val head =
            objectOf(
                "method" to request.method,
                "path" to request.path,
                "query" to request.query,
                "headers" to request.headers.map(Pair<String, String>::toList),
                "remoteAddress" to request.remoteAddress,
            )
        ticket = Port.exchange(listener, head, this, currentCoroutineContext())
        supervisorScope {
            // Starts on this thread: most bodies have arrived.
            val passing = async(start = CoroutineStart.UNDISPATCHED) { pass(request.body) }
            first = awaitPort {
                select<Event?> {
                    received.onReceive { it }
                    passing.onAwait { null }
                }
            }
            passing.cancel()
        }
    }

    suspend fun response(): HttpResponse = closedOnFailure {
        val event = first ?: awaitPort { received.receive() }
        if (event.kind != EventKind.HTTP_HEAD) throw failure(event) ?: ClosedException("the server was closed")
        val head = json.decodeFromString(Head.serializer(), event.body.decodeToString())
        HttpResponse(this, head.status, head.headers.map { (name, value) -> name to value }, head.empty)
    }

    private inline fun <T> closedOnFailure(work: () -> T): T = try {
        work()
    } catch (error: Throwable) {
        close()
        throw error
    }

    private suspend fun pass(body: Flow<ByteArray>) {
        var isWanted = true
        body.takeWhile { chunk -> native { Port.core.httpBody(ticket, chunk, false) }.also { isWanted = it } }.collect {}
        // Before the response can begin.
        isPassed = isWanted
        native { Port.core.httpBody(ticket, ByteArray(0), true) }
    }

    fun body(): Flow<ByteArray> = flow {
        try {
            while (true) {
                val event = awaitPort { received.receive() }
                if (event.kind == EventKind.HTTP_END) {
                    failure(event)?.let { throw it }
                    break
                }
                // Most web servers wait forever for a client that reads nothing.
                withTimeoutOrNull(writeTimeout) { emit(event.body) }
                    ?: throw ClosedException("the client has read nothing for the write timeout")
                native { Port.core.httpCredit(ticket, event.body.size.toULong()) }
            }
        } finally {
            close()
        }
    }

    fun close() {
        Responding.end(this)
        if (hasEnded || ticket == NONE) return
        // The exchange may have ended meanwhile.
        runCatching { Port.core.cancel(ticket, "the client has disconnected") }
    }

    private fun failure(event: Event): RuntimeException? = if (event.ok) null else exceptionOf(event.body.decodeToString())

    @Serializable
    private class Head(val status: Int, val headers: List<List<String>>, val empty: Boolean = false)
}

/** The requests whose responses a web server still writes: the exit of the process waits for them. */
internal object Responding {
    private val open = ConcurrentHashMap.newKeySet<Any>()

    fun begin(request: Any) {
        open += request
    }

    fun end(request: Any) {
        open -= request
    }

    fun awaitEnd(mostMs: Long) {
        val start = System.nanoTime()
        while (open.isNotEmpty() && System.nanoTime() - start < mostMs * NANOS_PER_MS) Thread.sleep(POLL_INTERVAL_MS)
    }

    private const val POLL_INTERVAL_MS = 5L
    private const val NANOS_PER_MS = 1_000_000
}
