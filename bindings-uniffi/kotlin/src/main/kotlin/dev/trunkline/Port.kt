package dev.trunkline

import dev.trunkline.internal.Event
import dev.trunkline.internal.OptionNames
import dev.trunkline.internal.Port as NativePort
import dev.trunkline.internal.version
import dev.trunkline.internal.writeStderr
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.util.concurrent.ConcurrentHashMap
import kotlin.concurrent.thread

/** The owner of an open handle: a listener or a connection. */
internal interface HandleOwner {
    fun receiveNotification(method: String, params: JsonObject) {}

    /** The handler of a request of the server. */
    fun callable(operation: String): Callable? = null

    fun closed(error: RuntimeException?)
}

/** The port of this process, and the thread that drains its queue. `docs/bridge.md` describes the events. */
internal object Port {
    /** The functions of the core. There is no bell: the thread waits in `drain`. */
    val core: NativePort = load()
    val requests = Requests(core)
    private val calls = Calls(core)

    /** By feature. Removed by `Freed`, because admitted calls may still arrive until then. */
    private val callables = ConcurrentHashMap<ULong, Callable>()
    private val owners = ConcurrentHashMap<ULong, HandleOwner>()

    /** Held while a handle is created, until it is in its table: its first event may arrive before that. */
    private val creating = Any()

    private val loop by lazy {
        // After the last one has ended, the process exits.
        Runtime.getRuntime().addShutdownHook(thread(start = false, name = "trunkline-exit") { exit() })
        thread(isDaemon = true, name = "trunkline") { receive() }
    }

    /** Registers a server or one of its features, with what answers its calls. */
    fun register(kind: String, description: JsonObject, callable: Callable? = null): ULong =
        synchronized(creating) {
            val handle = native { core.register(kind, description.toString()) }
            if (callable != null) callables[handle] = callable
            handle
        }

    /** Opens a listener or a connection. Returns its handle, which is the ticket of its reply. */
    fun open(message: JsonObject, owner: HandleOwner): ULong =
        opened(owner) { core.open(message.toString()) }

    fun opened(owner: HandleOwner, open: () -> ULong): ULong {
        loop
        return synchronized(creating) { native(open).also { owners[it] = owner } }
    }

    /** Forgets a handle that failed to open: no event `Closed` follows. */
    fun forget(handle: ULong) {
        owners.remove(handle)
    }

    fun notify(target: ULong, message: JsonObject) {
        native { core.notify(target, message.toString()) }
    }

    fun describe(target: ULong): JsonObject = json.parseToJsonElement(native { core.describe(target) }) as JsonObject

    private fun load(): NativePort {
        val found = version()
        check(found == VERSION) { "the native library is version $found, and this package $VERSION" }
        return NativePort.withoutBell(OptionNames.CAMEL)
    }

    private fun receive() {
        while (true) {
            for (event in core.drain(BATCH, FOREVER_MS)) {
                try {
                    if (event.kind == EventKind.STOPPED) return
                    dispatch(event)
                } catch (error: Throwable) {
                    // The other events must not be lost.
                    logError("an event failed", error)
                }
            }
        }
    }

    private fun dispatch(event: Event) {
        when (event.kind) {
            EventKind.CALL -> calls.start(event, callable(event))
            EventKind.CANCEL -> calls.cancel(event.ticket, text(event))
            EventKind.REPLY -> requests.receiveReply(event)
            EventKind.NOTIFICATION ->
                if (event.ticket != NONE) {
                    requests.receiveProgress(event)
                } else {
                    owner(event.handle)?.receiveNotification(event.name, params(event))
                }
            EventKind.CLOSED -> {
                val owner = owner(event.handle)
                owners.remove(event.handle)
                owner?.closed(if (event.ok) null else exceptionOf(text(event)))
            }
            EventKind.LOG -> log(json.decodeFromString(ListSerializer(LogRecord.serializer()), text(event)))
            EventKind.FREED -> callables.remove(event.handle)
        }
    }

    private fun callable(event: Event): Callable? =
        if (event.name.isEmpty()) known(callables, event.handle) else owner(event.handle)?.callable(event.name)

    private fun owner(handle: ULong): HandleOwner? = known(owners, handle)

    private fun <T : Any> known(table: ConcurrentHashMap<ULong, T>, handle: ULong): T? =
        table[handle] ?: synchronized(creating) { table[handle] }

    private fun params(event: Event): JsonObject =
        if (event.body.isEmpty()) NOTHING else json.parseToJsonElement(text(event)) as JsonObject

    private fun text(event: Event): String = event.body.decodeToString()

    /** Closes the port at the exit of the process, and waits until the thread has received the last event. */
    private fun exit() {
        try {
            core.close(NONE, 0u)
            loop.join(EXIT_MS)
        } catch (error: Exception) {
            writeStderr("trunkline could not be closed: $error\n")
        }
    }

    private const val BATCH = 512u
    private const val FOREVER_MS = 3_600_000u

    /** Maximum time that the exit of the process waits for the port to close. */
    private const val EXIT_MS = 2000L
}

/** No handle, and no ticket. */
internal const val NONE: ULong = 0uL

/** The handle or ticket in a message. */
internal fun number(handle: ULong): JsonElement = JsonPrimitive(handle.toLong())
