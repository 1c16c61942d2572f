package dev.trunkline

import com.sun.jna.Native
import dev.trunkline.internal.Event
import dev.trunkline.internal.IntegrityCheckingUniffiLib
import dev.trunkline.internal.PlainUniffiLib
import dev.trunkline.internal.UniffiLib
import dev.trunkline.internal.version
import dev.trunkline.internal.writeStderr
import kotlinx.coroutines.Job
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.JsonObject
import sun.misc.Signal
import java.util.concurrent.ConcurrentHashMap
import kotlin.concurrent.thread
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.EmptyCoroutineContext

private val port = lazy { loaded(::ProcessPort) }

@Volatile
internal var isShutDown = false
    private set

/** The port of this process. Each use fails in the same way if the native library cannot be loaded. */
@Suppress("ktlint:standard:property-naming")
internal val Port: ProcessPort
    get() = if (isShutDown) throw ClosedException("the library has been shut down") else port.value

/** Ends the port, if there is one. Returns whether this was the first call. */
internal fun shutDownPort(): Boolean = synchronized(port) {
    if (isShutDown) return false
    isShutDown = true
    if (port.isInitialized()) port.value.end()
    true
}

/** A port, and the threads that drain its queue. `docs/bridge.md` describes the events. */
internal class ProcessPort {
    val core: NativePort = version().let { found ->
        check(found == VERSION) { "the native library is version $found, and this package $VERSION" }
        NativePort()
    }
    val requests = Requests(core)
    private val calls = Calls(core)

    /** By feature and name. Removed by `Freed`, because admitted calls may still arrive until then. */
    private val callables = ConcurrentHashMap<ULong, Map<String, Callable>>()
    private val owners = ConcurrentHashMap<ULong, OpenHandle>()

    /** Spans and metrics, once a server or a client wants them. */
    @Volatile
    var telemetry: Telemetry? = null
        private set
    private val exchanges = ConcurrentHashMap<ULong, Exchange>()

    /** By the exchange or request that may cause calls, until `Freed`. */
    private val causes = ConcurrentHashMap<ULong, CoroutineContext>()

    /** Held while a handle is created, until it is in its table: its first event may arrive before that. */
    private val creating = Any()

    private val receivers = Receivers(core) { event, mayReturnHandler -> receive(event) { dispatch(it, mayReturnHandler) } }

    private val hook = thread(start = false, name = "trunkline-exit") { exit() }

    init {
        receivers.start()
        // After the last one has ended, the process exits. While it does, no other can be added.
        runCatching { Runtime.getRuntime().addShutdownHook(hook) }
    }

    /** Registers a server or one of its features, with what answers its calls, by their names. */
    fun register(kind: String, description: JsonObject, functions: Map<String, Callable> = emptyMap()): ULong = synchronized(creating) {
        val handle = native { core.register(kind, description.toString()) }
        if (functions.isNotEmpty()) callables[handle] = functions
        handle
    }

    /** Starts something whose calls run with the elements of [context]. */
    fun causing(context: CoroutineContext, start: () -> ULong): ULong =
        synchronized(creating) { start().also { causes[it] = inherited(context) } }

    /** Passes a request of a web framework to a listener. */
    fun exchange(listener: ULong, head: JsonObject, exchange: Exchange, context: CoroutineContext): ULong =
        causing(context) { native { core.httpRequest(listener, head.toString(), false) }.also { exchanges[it] = exchange } }

    /** Opens a listener or a connection. Returns its handle, which is the ticket of its reply. */
    fun open(message: JsonObject, owner: OpenHandle): ULong =
        synchronized(creating) { native { core.open(message.toString()) }.also { owners[it] = owner } }

    /** Forgets a handle that has closed, or failed to open: no event `Closed` follows then. */
    fun forget(handle: ULong): OpenHandle? = synchronized(creating) { owners.remove(handle) }

    /** Returns whether telemetry is wanted and available. Later requests then have spans. */
    fun observes(option: Boolean?): Boolean {
        if (!isTelemetryWanted(option)) return false
        synchronized(creating) {
            if (telemetry == null) {
                telemetry = Telemetry(core)
                notify(NONE, objectOf("telemetry" to true))
            }
        }
        telemetry?.measureLoad()
        return true
    }

    fun notify(target: ULong, message: JsonObject): Unit = native { core.notify(target, message.toString()) }

    fun describe(target: ULong): JsonObject = json.parseToJsonElement(native { core.describe(target) }) as JsonObject

    /** Handles an event. If that fails, so does what waits for it, and later events are not lost. */
    internal fun receive(event: Event, dispatch: (Event) -> (() -> Unit)?): (() -> Unit)? =
        guarded(event) { dispatch(event) }?.let { handler -> { guarded(event, handler) } }

    private fun <T> guarded(event: Event, work: () -> T): T? = try {
        work()
    } catch (error: Throwable) {
        callBack("an event") {
            logError("an event failed", error)
            failed(event, InternalException("an event of the library failed: $error", cause = error))
        }
        null
    }

    private fun failed(event: Event, error: InternalException) {
        when (event.kind) {
            EventKind.CALL -> core.fail(event.ticket, failure("internal", messageOf(error)).toString())
            EventKind.REPLY -> requests.fail(event.ticket, error)
            EventKind.CLOSED -> forget(event.handle)?.closed(error)
            EventKind.HTTP_HEAD, EventKind.HTTP_CHUNK, EventKind.HTTP_END -> exchanges.remove(event.ticket)?.fail(error)
        }
    }

    /** Handles an event. Returns a handler to run on this thread, if that is allowed. */
    private fun dispatch(event: Event, mayReturnHandler: () -> Boolean): (() -> Unit)? {
        if (event.kind == EventKind.CALL) return calls.start(event, callable(event), cause(event), mayReturnHandler)
        dispatch(event)
        return null
    }

    private fun dispatch(event: Event) {
        when (event.kind) {
            EventKind.CANCEL -> calls.cancel(event.ticket, text(event))

            EventKind.REPLY -> requests.receiveReply(event)

            EventKind.NOTIFICATION ->
                if (event.ticket != NONE) {
                    requests.receiveProgress(event)
                } else {
                    owner(event.handle)?.receiveNotification(event.name, params(event), event.name.length + event.body.size)
                }

            EventKind.CLOSED -> forget(event.handle)?.closed(if (event.ok) null else exceptionOf(text(event)))

            EventKind.TELEMETRY -> telemetry?.receive(text(event))

            EventKind.LOG -> json.decodeFromString<List<LogRecord>>(text(event)).forEach(::receive)

            EventKind.HTTP_HEAD, EventKind.HTTP_CHUNK -> known(exchanges, event.ticket)?.receive(event)

            EventKind.HTTP_END -> synchronized(creating) { exchanges.remove(event.ticket) }?.receive(event)

            EventKind.FREED -> synchronized(creating) {
                callables.remove(event.handle)
                causes.remove(event.handle)
            }
        }
    }

    private fun callable(event: Event): Callable? =
        known(callables, event.handle)?.get(event.name) ?: owner(event.handle)?.callable(event.name)

    private fun cause(event: Event): CoroutineContext =
        (if (event.cause == NONE) null else known(causes, event.cause)) ?: EmptyCoroutineContext

    /** The context that a call inherits: its own job and the dispatcher of its server replace the caller's. */
    private fun inherited(context: CoroutineContext): CoroutineContext = context.minusKey(Job).minusKey(ContinuationInterceptor)

    private fun owner(handle: ULong): OpenHandle? = known(owners, handle)

    private fun <T : Any> known(table: ConcurrentHashMap<ULong, T>, handle: ULong): T? =
        table[handle] ?: synchronized(creating) { table[handle] }

    private fun params(event: Event): JsonObject = if (event.body.isEmpty()) NOTHING else json.parseToJsonElement(text(event)) as JsonObject

    private fun text(event: Event): String = event.body.decodeToString()

    /**
     * Closes the port at the exit of the process, and waits until the last event was received. Shutdown
     * hooks run concurrently: those of web servers, frameworks and the program may not have begun to close yet, so the
     * calls in flight drain here as well.
     */
    private fun exit() {
        haltAtNextSignal()
        try {
            // The call of a handler that exits the process cannot complete, and a second signal does not wait.
            if (!calls.areExiting() && !isEndedBySignal) {
                runBlocking { owners.values.filter { it.isServing }.map { launch { it.drain() } }.joinAll() }
                Responding.awaitEnd(EXIT_TIMEOUT_MS)
            }
            core.close(NONE, 0u)
            receivers.join(EXIT_TIMEOUT_MS)
        } catch (error: Exception) {
            writeStderr("trunkline could not be closed: $error\n")
        }
    }

    /** Ends the port, and frees what other parts of the process know of it. */
    fun end() {
        // While the process exits, none can be removed.
        runCatching { Runtime.getRuntime().removeShutdownHook(hook) }
        telemetry?.close()
        core.close(NONE, 0u)
        receivers.join(EXIT_TIMEOUT_MS)
        core.destroy()
        // JNA refers to the methods that it has registered.
        listOf(IntegrityCheckingUniffiLib::class.java, UniffiLib::class.java, PlainUniffiLib::class.java)
            .filter(Native::registered).forEach(Native::unregister)
    }

    /** The JVM ignores further signals while it exits. */
    private fun haltAtNextSignal() {
        for (name in listOf("INT", "TERM")) {
            // Not with the option -Xrs, nor in an image without the module jdk.unsupported.
            runCatching { Signal.handle(Signal(name)) { Runtime.getRuntime().halt(SIGNAL_STATUS_BASE + it.number) } }
        }
    }

    private companion object {
        /** The exit of the process, or of the library, waits for the port to close. */
        const val EXIT_TIMEOUT_MS = 2000L

        /** Added to the number of the signal in the status of a process, as shells do. */
        const val SIGNAL_STATUS_BASE = 128
    }
}

/** No handle, and no ticket. */
internal const val NONE: ULong = 0uL
