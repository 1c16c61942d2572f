package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.longOrNull
import java.lang.ref.Cleaner
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes

/**
 * Creates a server.
 *
 * ```
 * val weather = server("weather", "1.0") {
 *     tool<Place>("forecast", "Tells tomorrow's weather") { place -> "Rain in ${place.city}" }
 * }
 * weather.serveStdio()
 * ```
 */
public fun server(
    name: String,
    version: String,
    instructions: String? = null,
    options: ServerOptions.() -> Unit = {},
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
    store: Store? = null,
    lifespan: (suspend () -> Any?)? = null,
    onError: ((Throwable, Context) -> Unit)? = null,
    features: Server.() -> Unit = {},
): Server {
    val info = Implementation(name = name, version = version)
    return Server(info, instructions, ServerOptions().apply(options), dispatcher, store, lifespan, onError).apply(features)
}

/**
 * A server of tools, resources, prompts and skills for clients of every protocol revision. One server handles all
 * connections and requests of a process, on any number of transports. Features can be added and removed at any time.
 *
 * Handlers run on the dispatcher of the server, each as a coroutine that is cancelled with its call. Handlers that
 * block should run on [Dispatchers.IO]. If its threads are scarce, callers with verified tokens take turns.
 *
 * @property info Name and version.
 * @param store A custom store for tasks and sessions, instead of the option with a URL.
 * @param lifespan Opens what calls need, before the first one, on [Dispatchers.IO]. The value is [Context.lifespan]; an
 * [AutoCloseable] is closed once nothing serves or uses the server.
 * @param onError Called with handler exceptions that are hidden from callers.
 */
public class Server internal constructor(
    public val info: Implementation,
    instructions: String?,
    options: ServerOptions,
    internal val owner: Owner,
    store: Map<String, suspend (JsonObject) -> JsonObject>,
) {
    private val telemetry = options.telemetry
    internal val handle: ULong = Port.register(
        "server",
        objectOf(
            "info" to info,
            "instructions" to instructions,
            "options" to options,
            "store" to store.mapValues { "queue" }.ifEmpty { null },
        ),
        callables(store, owner),
    )

    init {
        owner.lifespan?.let { Port.register("lifespan", objectOf("server" to handle), it.functions) }
    }

    /** The open handles that serve or use this server. */
    private val open: MutableSet<OpenHandle> = ConcurrentHashMap.newKeySet()

    /** Frees the server if it is dropped without `close`. What is open keeps it alive. */
    private val freed = CLEANER.register(this, freeing(handle))

    public constructor(
        info: Implementation,
        instructions: String? = null,
        options: ServerOptions = ServerOptions(),
        dispatcher: CoroutineDispatcher = Dispatchers.Default,
        store: Store? = null,
        lifespan: (suspend () -> Any?)? = null,
        onError: ((Throwable, Context) -> Unit)? = null,
    ) : this(info, instructions, options, Owner(dispatcher, onError, lifespan?.let(::Lifespan)), store?.functions().orEmpty())

    /**
     * Adds a tool. Its input schema is that of the serializable class [A], whose properties may have a [Description].
     * What the handler returns becomes the result: a string is text, content blocks are the content, and a
     * serializable class is JSON.
     */
    public inline fun <reified A : Any> tool(
        name: String,
        description: String? = null,
        noinline options: ToolOptions.() -> Unit = {},
        noinline handler: suspend Context.(A) -> Any?,
    ): ChangeableRegistration<ToolOptions> = tool(name, description, options, serializerOf<A>("tool $name"), null, handler)

    /** Adds a tool with structured results: its output schema is that of the serializable class [R]. */
    @JvmName("structuredTool")
    public inline fun <reified A : Any, reified R> tool(
        name: String,
        description: String? = null,
        noinline options: ToolOptions.() -> Unit = {},
        noinline handler: suspend Context.(A) -> R,
    ): ChangeableRegistration<ToolOptions> =
        tool(name, description, options, serializerOf<A>("tool $name"), serializerOf<R>("tool $name"), handler)

    @PublishedApi
    internal fun <A, R> tool(
        name: String,
        description: String?,
        options: ToolOptions.() -> Unit,
        arguments: KSerializer<A>,
        result: KSerializer<R>?,
        handler: suspend Context.(A) -> R,
    ): ChangeableRegistration<ToolOptions> {
        // A whole result is no data.
        val handled = Handled(arguments, result?.takeUnless { it == CallToolResult.serializer() }, handler)
        return tool(name, description, handled.inputSchema, options, handled.outputSchema) { handled.run(this, it) }
    }

    /** Adds a tool with a JSON Schema. Without one, it takes no arguments. */
    public fun tool(
        name: String,
        description: String? = null,
        inputSchema: JsonObject? = null,
        options: ToolOptions.() -> Unit = {},
        handler: suspend Context.(JsonObject) -> Any?,
    ): ChangeableRegistration<ToolOptions> = tool(name, description, inputSchema, options, null) { answerOf(handler(it as JsonObject)) }

    private fun tool(
        name: String,
        description: String?,
        inputSchema: JsonObject?,
        options: ToolOptions.() -> Unit,
        outputSchema: OutputSchema?,
        run: Handler,
    ): ChangeableRegistration<ToolOptions> =
        ChangeableRegistration(ToolOptions().also { it.description = description }.apply(options)) { given, replaces ->
            if (outputSchema != null) given.outputSchema = outputSchema.schema
            val tool = encoded(given.tool(name, inputSchema ?: NOTHING))
            val described = if (inputSchema == null) JsonObject(tool - "inputSchema") else tool
            val feature = encoded(given).with("tool" to described, "wrapOutput" to outputSchema?.isWrapped)
            register("tool", name, feature, given, replaces, run)
        }

    /**
     * Adds a resource or, with a URI template (RFC 6570, such as `notes://{name}`), all resources whose URI matches. An
     * exact URI takes precedence over templates. A string is text, bytes are a blob, and a serializable class is JSON.
     */
    public fun resource(
        name: String,
        uri: String,
        description: String? = null,
        mimeType: String? = null,
        options: ResourceOptions.() -> Unit = {},
        handler: suspend Context.(ResourceRequest) -> Any?,
    ): ChangeableRegistration<ResourceOptions> {
        val isTemplate = "{" in uri
        val kind = if (isTemplate) "resourceTemplate" else "resource"
        val first = ResourceOptions()
        first.description = description
        first.mimeType = mimeType
        return ChangeableRegistration(first.apply(options)) { given, replaces ->
            val described = if (isTemplate) given.resourceTemplate(uriTemplate = uri, name = name) else given.resource(uri, name)
            register(kind, name, encoded(given).with(kind to described), given, replaces) {
                contentsOf(handler(ResourceRequest(it as JsonObject)))
            }
        }
    }

    /** Adds a prompt. Strings and content blocks become user messages. */
    public fun prompt(
        name: String,
        description: String? = null,
        arguments: List<PromptArgument>? = null,
        options: PromptOptions.() -> Unit = {},
        handler: suspend Context.(Map<String, String>) -> Any?,
    ): ChangeableRegistration<PromptOptions> =
        ChangeableRegistration(PromptOptions().also { it.description = description }.apply(options)) { given, replaces ->
            register("prompt", name, encoded(given).with("prompt" to given.prompt(name, arguments)), given, replaces) {
                messagesOf(handler(strings(it)))
            }
        }

    /**
     * Adds completions of an argument of a prompt or a resource template: a list of strings, or a [Completion]. If both
     * are registered together, [FeatureOptions.complete] is simpler.
     */
    public fun completion(
        reference: CompletionReference,
        argument: String,
        handler: suspend Context.(CompletionRequest) -> Any?,
    ): Registration =
        add("completion", argument, objectOf("ref" to reference, "argument" to argument)) { completionOf(handler(decoded(it))) }

    /** Adds middleware for some methods, or for all that can be wrapped. The first one added is the outermost. */
    public fun middleware(vararg methods: String, handler: suspend Context.(MiddlewareRequest) -> JsonObject): Registration =
        add("middleware", "middleware", objectOf("methods" to methods.toList().ifEmpty { null })) {
            val request = it as JsonObject
            val params = request["params"] as? JsonObject ?: NOTHING
            Answer(Shape.RESULT, handler(MiddlewareRequest(request.string("method").orEmpty(), params, this)))
        }

    /** Adds the handler of a request that is not part of the protocol, such as `com.acme/sum`. */
    public fun requestHandler(
        method: String,
        options: RequestHandlerOptions.() -> Unit = {},
        handler: suspend Context.(JsonObject) -> JsonObject?,
    ): Registration = add("requestHandler", method, encoded(RequestHandlerOptions().apply(options)).with("method" to method)) {
        Answer(Shape.VALUE, jsonOf(handler(it as JsonObject)))
    }

    /** Adds a provider to a list. */
    public fun provider(category: Category, provider: Provider): Registration = add(
        "provider",
        "the provider of ${category.list}",
        objectOf("of" to category.list),
    ) {
        val request = it as JsonObject
        val list = request["list"] as? JsonObject
        if (list == null) {
            contentsOf(provider.get(request["get"] as? JsonObject ?: NOTHING))
        } else {
            Answer(Shape.VALUE, encoded(provider.list(list.string("cursor"))))
        }
    }

    /** Adds an agent skill: its files by path, with a `SKILL.md` that names it. */
    public fun skill(files: Map<String, String>, options: SkillOptions.() -> Unit = {}): Registration =
        skill("files" to files.map { (path, text) -> SkillFile(path = path, text = text) }, options)

    /** Adds an agent skill: a folder with a `SKILL.md` that names it. */
    public fun skill(folder: Path, options: SkillOptions.() -> Unit = {}): Registration = skill("folder" to folder.toString(), options)

    private fun skill(source: Pair<String, Any>, options: SkillOptions.() -> Unit): Registration =
        add("skill", "skill", encoded(SkillOptions().apply(options)).with(source))

    /** Adds a folder whose files are served as resources, below [uri]. They are read on request. */
    public fun directory(uri: String, path: Path, options: DirectoryOptions.() -> Unit = {}): Registration =
        add("directory", uri, encoded(DirectoryOptions().apply(options)).with("uri" to uri, "path" to path.toString()))

    /**
     * Adds the features of another server, named `prefix__name` and `prefix+uri`. Its lifespan opens with the first
     * request that reaches it, and closes with this server.
     */
    public fun mount(prefix: String, other: Server): Registration =
        add("mount", prefix, objectOf("prefix" to prefix, "mounted" to other.handle))

    /** Adds the features of the server behind a client. */
    public fun proxy(client: ConnectedClient, options: ProxyOptions.() -> Unit = {}): Registration =
        add("proxy", "proxy", encoded(ProxyOptions().apply(options)).with("connection" to client.handle))

    /** Notifies subscribers that a resource has changed. */
    public fun resourceUpdated(uri: String): Unit = Port.notify(handle, objectOf("resourceUpdated" to uri))

    /** Notifies clients that the list of a provider has changed. Other lists need no call. */
    public fun listChanged(category: Category): Unit = Port.notify(handle, objectOf("listChanged" to category.list))

    /** Notifies the client that the user has finished with the page of [Context.elicitUrl] (2025-11-25). */
    public fun elicitationComplete(elicitationId: String): Unit = Port.notify(handle, objectOf("elicitationComplete" to elicitationId))

    /**
     * Serves over stdin and stdout in the foreground, until stdin ends or SIGINT or SIGTERM arrives. Calls in flight
     * may then complete within `drainDeadline`. Once this is called, anything that the program prints goes to stderr.
     */
    public suspend fun serveStdio() {
        // On other systems the core redirects the descriptor.
        if (System.getProperty("os.name").startsWith("Windows")) System.setOut(System.err)
        val opened = OpenHandle(this)
        val error =
            endedBySignals({ opened.close() }) {
                listen(opened, objectOf("type" to "stdio"), "foreground" to true, "signals" to true)
                opened.join()
            }
        if (error != null) throw error
    }

    /**
     * Listens for Streamable HTTP, in the background: it doesn't keep the process running once the main function has
     * returned. [Listener.join], [Listener.run] and [serveHttp] wait. With [auth], requests need an access token, which
     * [verifier] verifies.
     */
    public suspend fun listen(auth: AuthOptions? = null, verifier: TokenVerifier? = null, options: HttpOptions.() -> Unit = {}): Listener =
        listen(http(auth, verifier, options))

    internal suspend fun listen(http: Http, opened: OpenHandle = OpenHandle(this)): Listener {
        val bound: BoundAddress = decoded(listen(opened, transport(http, opened)))
        return Listener(opened, bound.url.orEmpty(), bound.host.orEmpty(), bound.port?.toInt() ?: 0)
    }

    /**
     * Serves Streamable HTTP in the foreground, until SIGINT or SIGTERM arrives. Calls in flight may then complete
     * within `drainDeadline`. Like [listen] followed by [Listener.run], but also handles signals while opening.
     */
    public suspend fun serveHttp(auth: AuthOptions? = null, verifier: TokenVerifier? = null, options: HttpOptions.() -> Unit = {}): Unit =
        serveHttp(http(auth, verifier, options))

    internal suspend fun serveHttp(http: Http) {
        val opened = OpenHandle(this)
        endedBySignals({ opened.close() }) { listen(http, opened).serve() }
    }

    /**
     * An endpoint of Streamable HTTP in the program's own web server, whose adapter passes on requests. It takes the
     * options of [listen] except those of a socket, and serves every path that it gets, unless the options name one.
     *
     * @throws InvalidArgumentException if an option is invalid.
     */
    public fun endpoint(auth: AuthOptions? = null, verifier: TokenVerifier? = null, options: HttpOptions.() -> Unit = {}): HttpEndpoint =
        endpoint(http(auth, verifier, options))

    internal fun endpoint(http: Http): HttpEndpoint {
        val checked = http.options.with("type" to "http", "mounted" to true)
        native { Port.core.check(objectOf("server" to handle, "transport" to checked).toString()) }
        return HttpEndpoint(http.writeTimeout) { OpenHandle(this).also { listen(it, transport(http, it).with("mounted" to true)) } }
    }

    /** Checks the server's store, and returns what is wrong with it. This takes a few seconds. */
    public suspend fun checkStore(): List<String> =
        decoded<Map<String, List<String>>>(Port.requests.send(handle, "checkStore"))["findings"].orEmpty()

    /**
     * Closes all listeners, and removes all features. Calls in flight get [deadline] (by default, all but the last
     * fifth of `drainDeadline`).
     */
    public suspend fun close(deadline: Duration? = null) {
        try {
            // Even if the coroutine is cancelled, each close begins.
            coroutineScope { for (opened in open) launch(start = CoroutineStart.UNDISPATCHED) { opened.close(deadline) } }
        } finally {
            freed.clean()
        }
    }

    private suspend fun listen(opened: OpenHandle, transport: JsonObject, vararg how: Pair<String, Boolean>): JsonElement =
        opened.open(objectOf("server" to handle, "transport" to transport, *how))

    private fun http(auth: AuthOptions?, verifier: TokenVerifier?, options: HttpOptions.() -> Unit): Http =
        Http(encoded(HttpOptions().apply(options)), auth?.let { encoded(it) }, verifier?.let(::verification))

    private fun transport(http: Http, opened: OpenHandle): JsonObject {
        val verifier = http.verify?.let { hook("verifier", "the verifier", owner.ofVerifiers, it) }
        if (verifier != null) opened.end.invokeOnCompletion { Registration(verifier).remove() }
        return http.options.with("type" to "http", "auth" to http.auth?.with("verifier" to verifier))
    }

    /** Closes this with the server, which it keeps alive as long as the port knows it. */
    internal fun enter(opened: OpenHandle) {
        Port.observes(telemetry)
        open += opened
    }

    internal fun leave(opened: OpenHandle) {
        open -= opened
    }

    private fun verification(verifier: TokenVerifier): Handler = {
        val identity = verifier.verify(TokenRequestFacts(decoded(it), ticket))
        Answer(Shape.VALUE, jsonOf(identity, json))
    }

    private fun add(kind: String, name: String, feature: JsonObject, run: Handler? = null): Registration =
        Registration(register(kind, name, feature, run = run))

    /** Registers a feature, and the functions of its options, which it then keeps alive. */
    internal fun register(
        kind: String,
        name: String,
        feature: JsonObject,
        hooks: FeatureOptions? = null,
        replaces: ULong? = null,
        run: Handler? = null,
    ): ULong {
        val registered = mutableListOf<ULong>()
        val ofFeature = { of: String, function: Handler -> hook(of, "the $of of $kind $name", owner, function).also { registered += it } }
        try {
            val completers = hooks?.completers.orEmpty().mapValues { (_, complete) -> ofFeature("completer", complete) }
            val description =
                feature.with(
                    "server" to handle,
                    "visible" to hooks?.visibility?.let { ofFeature("visibility", it) },
                    "complete" to completers.ifEmpty { null },
                    "replaces" to replaces,
                )
            val callable = run?.let { Callable("$kind $name", owner, name.takeIf { kind == "tool" }, it) }
            return Port.register(kind, description, callable?.let { mapOf("" to it) }.orEmpty())
        } finally {
            for (one in registered) Registration(one).remove()
        }
    }

    /** Registers a function that is no feature of its own; [what] names it in errors. */
    private fun hook(kind: String, what: String, of: Owner, run: Handler): ULong =
        Port.register(kind, objectOf("server" to handle), mapOf("" to Callable(what, of, run = run)))

    private companion object {
        val CLEANER: Cleaner = Cleaner.create()

        /** Not a function of the server, which it would keep alive. */
        fun freeing(handle: ULong) = Runnable { Registration(handle).remove() }
    }
}

/** How to serve HTTP: its options, and what verifies access tokens if [auth] is set. */
internal class Http(val options: JsonObject, val auth: JsonObject?, val verify: Handler?) {
    /** The option, with the core's default. */
    val writeTimeout: Duration
        get() = (options["writeTimeoutMs"] as? JsonPrimitive)?.longOrNull?.milliseconds?.coerceAtLeast(1.milliseconds) ?: 1.minutes
}
