package dev.trunkline.jvm

import dev.trunkline.Context
import dev.trunkline.Exchange
import dev.trunkline.FeatureOptions
import dev.trunkline.Http
import dev.trunkline.HttpEndpoint
import dev.trunkline.HttpRequest
import dev.trunkline.Lifespan
import dev.trunkline.Listener
import dev.trunkline.Owner
import dev.trunkline.Port
import dev.trunkline.Registration
import dev.trunkline.Responding
import dev.trunkline.Server
import dev.trunkline.callbacks
import dev.trunkline.decoded
import dev.trunkline.passingOn
import dev.trunkline.toHandler
import kotlinx.coroutines.asExecutor
import kotlinx.coroutines.future.await
import kotlinx.coroutines.withContext
import java.io.IOException
import java.io.InputStream
import java.io.OutputStream
import java.util.AbstractMap.SimpleEntry
import java.util.concurrent.Callable
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Executor
import java.util.function.BiConsumer
import java.util.function.Consumer
import java.util.function.Supplier
import kotlin.time.Duration.Companion.milliseconds

/** A server. */
@JvmSuppressWildcards
internal class JvmServer(
    private val jvm: Jvm,
    executor: Executor,
    info: Map<String, Any?>,
    instructions: String?,
    options: Map<String, Any?>,
    store: Map<String, JvmFunction>,
    lifespan: Callable<*>?,
    onError: BiConsumer<Throwable, JvmCall>?,
) {
    internal val server: Server = jvm.converting {
        val threads = Threads(executor)
        val open = lifespan?.let { suspend { threads.opened(it) } }
        val report = onError?.let { { error: Throwable, context: Context -> it.accept(error, JvmCall(jvm, context)) } }
        val unlimited = if (threads.areUnlimited) threads else Threads(callbacks.asExecutor())
        val owner = Owner(threads, report, open?.let(::Lifespan), threads.here, unlimited)
        Server(decoded(objectFrom(info)), instructions, decoded(objectFrom(options)), owner, threads.running(store))
    }

    /** The handle of the server, for messages. */
    public val handle: Long get() = server.handle.toLong()

    /** Registers a feature. [hooks] are its `visible`, and its completers by the names of their arguments after `complete:`. */
    public fun register(
        kind: String,
        name: String,
        description: Map<String, Any?>,
        hooks: Map<String, JvmHandler>,
        replaces: JvmFeature?,
        handler: JvmHandler?,
    ): JvmFeature = jvm.converting {
        val functions = object : FeatureOptions() {}
        for ((of, hook) in hooks) {
            val run = jvm.running(hook)
            if (of == "visible") functions.visibility = run else functions.completers += of.removePrefix("complete:") to run
        }
        val replaced = replaces?.registration?.handle
        val run = handler?.let(jvm::running)
        JvmFeature(jvm, Registration(server.register(kind, name, objectFrom(description), functions, replaced, run)))
    }

    /** Adds the features of another server. */
    public fun mount(prefix: String, other: JvmServer): JvmFeature = jvm.converting { JvmFeature(jvm, server.mount(prefix, other.server)) }

    /** Adds the features of the server behind a client. */
    public fun proxy(client: JvmClient, options: Map<String, Any?>): JvmFeature =
        register("proxy", "proxy", options + ("connection" to client.handle), emptyMap(), null, null)

    public fun notify(message: Map<String, Any?>): Unit = jvm.converting { Port.notify(server.handle, objectFrom(message)) }

    public fun checkStore(): CompletableFuture<List<String>> = jvm.future { server.checkStore() }

    public fun serveStdio(): Unit = jvm.blocking { server.serveStdio() }

    public fun listen(options: Map<String, Any?>, auth: Map<String, Any?>?, verifier: JvmHandler?): CompletableFuture<JvmListener> =
        jvm.future({ it.close(null) }) { JvmListener(jvm, server.listen(http(options, auth, verifier))) }

    public fun serveHttp(options: Map<String, Any?>, auth: Map<String, Any?>?, verifier: JvmHandler?): Unit =
        jvm.blocking { server.serveHttp(http(options, auth, verifier)) }

    public fun endpoint(options: Map<String, Any?>, auth: Map<String, Any?>?, verifier: JvmHandler?): JvmEndpoint =
        jvm.converting { JvmEndpoint(jvm, server.endpoint(http(options, auth, verifier))) }

    private fun http(options: Map<String, Any?>, auth: Map<String, Any?>?, verifier: JvmHandler?): Http =
        Http(objectFrom(options), auth?.let(::objectFrom), verifier?.let(jvm::running))

    /** Closes all listeners, and removes all features. */
    public fun close(deadlineMs: Long?): Unit = jvm.blocking { server.close(deadlineMs?.milliseconds) }
}

/** A registered feature. */
@JvmSuppressWildcards
internal class JvmFeature internal constructor(private val jvm: Jvm, internal val registration: Registration) {
    public fun remove(): Unit = jvm.converting { registration.remove() }

    public fun enable(): Unit = jvm.converting { registration.enable() }

    public fun disable(): Unit = jvm.converting { registration.disable() }
}

/** A server that is listening. */
@JvmSuppressWildcards
internal class JvmListener internal constructor(private val jvm: Jvm, private val listener: Listener) {
    public val url: String get() = listener.url
    public val host: String get() = listener.host
    public val port: Int get() = listener.port

    public fun close(deadlineMs: Long?): Unit = jvm.blocking { listener.close(deadlineMs?.milliseconds) }

    public fun join(): Unit = jvm.blocking { listener.join() }

    public fun run(): Unit = jvm.blocking { listener.run() }
}

/** A server in a web server of the program. */
@JvmSuppressWildcards
internal class JvmEndpoint internal constructor(private val jvm: Jvm, private val endpoint: HttpEndpoint) {
    /** Starts a response, and returns where its body goes. */
    public fun interface Start {
        @Throws(IOException::class)
        public fun start(status: Int, headers: List<Map.Entry<String, String>>, isEmpty: Boolean): OutputStream
    }

    /**
     * Answers a request on this thread. What [capture] returns runs the handlers that it leads to. A [length] of -1 means
     * unknown. If the response [mayComeLater], and had to wait for the body, it is returned instead.
     */
    @Throws(IOException::class)
    public fun handle(
        method: String,
        path: String,
        query: String?,
        remoteAddress: String?,
        headers: List<Map.Entry<String, String>>,
        body: InputStream,
        length: Long,
        capture: Supplier<Consumer<Runnable>>,
        mayComeLater: Boolean,
        start: Start,
    ): Later? = jvm.blocking {
        passingOn(body, length.takeIf { it >= 0 }) { chunks ->
            val request = HttpRequest(method, path, headers.map { it.key to it.value }, chunks, query, remoteAddress)
            val exchange = withContext(Surroundings(capture)) { endpoint.begin(request) }
            if (mayComeLater && exchange.isPassed) return@passingOn Later(jvm, exchange)
            exchange.response().use { response ->
                val output = start.start(response.status, response.headers.map { SimpleEntry(it.first, it.second) }, response.isEmpty)
                response.body.collect {
                    output.write(it)
                    output.flush()
                }
            }
            null
        }
    }

    /** A response that a web server writes without blocking. */
    public interface Output {
        public fun start(status: Int, headers: List<Map.Entry<String, String>>)

        /** Writes and flushes a chunk. The future completes when the next one can be written. */
        public fun write(chunk: ByteArray): CompletableFuture<Void?>
    }

    /** A response whose request has been passed on. */
    public class Later internal constructor(private val jvm: Jvm, private val exchange: Exchange) {
        /** Writes it, on threads of the library. */
        public fun writeTo(output: Output): CompletableFuture<Void?> = jvm.future {
            exchange.response().use { response ->
                output.start(response.status, response.headers.map { SimpleEntry(it.first, it.second) })
                if (!response.isEmpty) {
                    // The headers, before the first chunk of a stream.
                    output.write(ByteArray(0)).await()
                    response.body.collect { output.write(it).await() }
                }
            }
            null
        }
    }

    /** Delays the exit of the process until the returned function is called, once the response is complete. */
    public fun responding(): Runnable {
        val request = Any()
        Responding.begin(request)
        return Runnable { Responding.end(request) }
    }

    /** A handler of the web server of the JDK. */
    public fun toHandler(): com.sun.net.httpserver.HttpHandler = endpoint.toHandler()

    public fun run(): Unit = jvm.blocking { endpoint.run() }

    public fun close(deadlineMs: Long?): Unit = jvm.blocking { endpoint.close(deadlineMs?.milliseconds) }
}
