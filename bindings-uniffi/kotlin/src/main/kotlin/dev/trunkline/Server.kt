package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.intOrNull
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.serializer
import java.lang.ref.Cleaner
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import kotlin.time.Duration

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
 * block should run on [Dispatchers.IO].
 *
 * @property info Name and version.
 * @param store Keeps tasks and sessions, instead of the option with its URL.
 * @param lifespan Opens what calls need, before the first one. The value is [Context.lifespan], and is closed, if it
 * is an [AutoCloseable], when nothing serves or uses the server any more.
 * @param onError Called with exceptions of handlers whose callers get a generic message.
 */
public class Server internal constructor(
    public val info: Implementation,
    instructions: String?,
    options: ServerOptions,
    internal val owner: Owner,
    store: Map<String, suspend (JsonObject) -> JsonObject>,
) {
    private val telemetry = options.telemetry
    internal val handle: ULong = register(info, instructions, options, callables(store, owner))

    /** What serves or uses this server. */
    private val open: MutableSet<OpenHandle> = ConcurrentHashMap.newKeySet()

    /** Frees the server if it is dropped without `close`. What is open keeps it alive. */
    private val freed = CLEANER.register(this, Freeing(handle))

    public constructor(
        info: Implementation,
        instructions: String? = null,
        options: ServerOptions = ServerOptions(),
        dispatcher: CoroutineDispatcher = Dispatchers.Default,
        store: Store? = null,
        lifespan: (suspend () -> Any?)? = null,
        onError: ((Throwable, Context) -> Unit)? = null,
    ) : this(info, instructions, options, Owner(dispatcher, onError, Lifespan(lifespan)), store?.functions().orEmpty())

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
    ): ChangeableRegistration<ToolOptions> = tool(name, description, options, serializer<A>(), null, handler)

    /** Adds a tool with structured results: its output schema is that of the serializable class [R]. */
    @JvmName("structuredTool")
    public inline fun <reified A : Any, reified R> tool(
        name: String,
        description: String? = null,
        noinline options: ToolOptions.() -> Unit = {},
        noinline handler: suspend Context.(A) -> R,
    ): ChangeableRegistration<ToolOptions> = tool(name, description, options, serializer<A>(), serializer<R>(), handler)

    @PublishedApi
    internal fun <A, R> tool(
        name: String,
        description: String?,
        options: ToolOptions.() -> Unit,
        arguments: KSerializer<A>,
        result: KSerializer<R>?,
        handler: suspend Context.(A) -> R,
    ): ChangeableRegistration<ToolOptions> {
        val handled = Handled(arguments, result, handler)
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
        ChangeableRegistration(::ToolOptions, { this.description = description }, options) { given, replaces ->
            if (outputSchema != null) given.outputSchema = outputSchema.schema
            val tool = json.encodeToJsonElement(given.tool(name, inputSchema ?: NOTHING)) as JsonObject
            val described = if (inputSchema == null) JsonObject(tool - "inputSchema") else tool
            val wrapOutput = JsonPrimitive(outputSchema?.isWrapped ?: false)
            register(
                "tool",
                name,
                json.encodeToJsonElement(given),
                given,
                replaces,
                "tool" to described,
                "wrapOutput" to wrapOutput,
                run = run,
            )
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
        val first: ResourceOptions.() -> Unit = {
            this.description = description
            this.mimeType = mimeType
        }
        return ChangeableRegistration(::ResourceOptions, first, options) { given, replaces ->
            val described =
                if (isTemplate) {
                    json.encodeToJsonElement(given.resourceTemplate(uriTemplate = uri, name = name))
                } else {
                    json.encodeToJsonElement(given.resource(uri = uri, name = name))
                }
            register(kind, name, json.encodeToJsonElement(given), given, replaces, kind to described) {
                contentsOf(handler(ResourceRequest(it as JsonObject)))
            }
        }
    }

    /** Adds a prompt. Strings and content blocks become messages of the user. */
    public fun prompt(
        name: String,
        description: String? = null,
        arguments: List<PromptArgument>? = null,
        options: PromptOptions.() -> Unit = {},
        handler: suspend Context.(Map<String, String>) -> Any?,
    ): ChangeableRegistration<PromptOptions> =
        ChangeableRegistration(::PromptOptions, { this.description = description }, options) { given, replaces ->
            val described = json.encodeToJsonElement(given.prompt(name, arguments))
            register("prompt", name, json.encodeToJsonElement(given), given, replaces, "prompt" to described) {
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
    ): Registration = add(
        "completion",
        argument,
        NOTHING,
        "ref" to json.encodeToJsonElement(reference),
        "argument" to JsonPrimitive(argument),
    ) { completionOf(handler(json.decodeFromJsonElement(it))) }

    /** Adds middleware for some methods, or for all that can be wrapped. The first one added is outermost. */
    public fun middleware(vararg methods: String, handler: suspend Context.(MiddlewareRequest) -> JsonObject): Registration =
        add("middleware", "middleware", NOTHING, "methods" to methods.toList().ifEmpty { null }?.let(::jsonOf)) {
            val request = it as JsonObject
            val params = request["params"] as? JsonObject ?: NOTHING
            Answer(Shape.RESULT, handler(MiddlewareRequest(request.string("method").orEmpty(), params, this)))
        }

    /** Adds the handler of a request that is not part of the protocol, such as `com.acme/sum`. */
    public fun requestHandler(
        method: String,
        options: RequestHandlerOptions.() -> Unit = {},
        handler: suspend Context.(JsonObject) -> JsonObject?,
    ): Registration {
        val given = json.encodeToJsonElement(RequestHandlerOptions().apply(options))
        return add("requestHandler", method, given, "method" to JsonPrimitive(method)) {
            Answer(Shape.VALUE, jsonOf(handler(it as JsonObject)))
        }
    }

    /** Adds a provider to a list: `tools`, `resources`, `resourceTemplates` or `prompts`. */
    public fun provider(of: String, provider: Provider): Registration =
        add("provider", "the provider of $of", NOTHING, "of" to JsonPrimitive(of)) {
            val request = it as JsonObject
            val list = request["list"] as? JsonObject
            if (list == null) {
                contentsOf(provider.get(request["get"] as? JsonObject ?: NOTHING))
            } else {
                Answer(Shape.VALUE, json.encodeToJsonElement(provider.list(list.string("cursor"))))
            }
        }

    /** Adds an agent skill: its files by path, with a `SKILL.md` that names it. */
    public fun skill(files: Map<String, String>, options: SkillOptions.() -> Unit = {}): Registration =
        skill("files" to json.encodeToJsonElement(files.map { (path, text) -> SkillFile(path = path, text = text) }), options)

    /** Adds an agent skill: a folder with a `SKILL.md` that names it. */
    public fun skill(folder: Path, options: SkillOptions.() -> Unit = {}): Registration =
        skill("folder" to JsonPrimitive(folder.toString()), options)

    private fun skill(source: Pair<String, JsonElement>, options: SkillOptions.() -> Unit): Registration =
        add("skill", "skill", json.encodeToJsonElement(SkillOptions().apply(options)), source)

    /** Adds a folder whose files are served as resources, below [uri]. They are read on request. */
    public fun directory(uri: String, path: Path, options: DirectoryOptions.() -> Unit = {}): Registration {
        val given = json.encodeToJsonElement(DirectoryOptions().apply(options))
        return add("directory", uri, given, "uri" to JsonPrimitive(uri), "path" to JsonPrimitive(path.toString()))
    }

    /**
     * Adds the features of another server, named `prefix__name` and `prefix+uri`. If this server is in use, the
     * lifespan of the other opens first.
     */
    public fun mount(prefix: String, other: Server): Registration {
        val members = arrayOf("prefix" to JsonPrimitive(prefix), "mounted" to number(other.handle))
        val (outer, inner) = owner.lifespan to other.owner.lifespan
        try {
            // Before the first call.
            outer.mount(inner)
            return Registration(register("mount", prefix, NOTHING, null, null, *members)) { outer.unmount(inner) }
        } catch (error: Throwable) {
            outer.unmount(inner)
            throw error
        }
    }

    /** Adds the features of the server behind a client. */
    public fun proxy(client: ConnectedClient, options: ProxyOptions.() -> Unit = {}): Registration =
        add("proxy", "proxy", json.encodeToJsonElement(ProxyOptions().apply(options)), "connection" to number(client.handle))

    /** Notifies subscribers that a resource has changed. */
    public fun resourceUpdated(uri: String): Unit = Port.notify(handle, objectOf("resourceUpdated" to JsonPrimitive(uri)))

    /** Notifies clients that the list of a provider has changed. Other lists need no call. */
    public fun listChanged(of: String): Unit = Port.notify(handle, objectOf("listChanged" to JsonPrimitive(of)))

    /** Notifies the client that the user has finished with the page of [Context.elicitUrl] (2025-11-25). */
    public fun elicitationComplete(elicitationId: String): Unit =
        Port.notify(handle, objectOf("elicitationComplete" to JsonPrimitive(elicitationId)))

    /**
     * Serves over stdin and stdout in the foreground, until stdin ends or SIGINT or SIGTERM arrives. Calls in flight
     * may then complete within `drainDeadline`. Once this is called, anything that the program prints goes to stderr.
     */
    public suspend fun serveStdio() {
        val opened = OpenHandle(this)
        Port.notify(NONE, objectOf("holdStdio" to TRUE))
        val error =
            endedBySignals({ opened.close() }) {
                listen(opened, objectOf("type" to JsonPrimitive("stdio")), "foreground" to TRUE, "signals" to TRUE)
                opened.end.await()
            }
        if (error != null) throw error
    }

    /** Listens for Streamable HTTP. With [auth], requests need an access token, which [verifier] verifies. */
    public suspend fun listen(auth: AuthOptions? = null, verifier: TokenVerifier? = null, options: HttpOptions.() -> Unit = {}): Listener =
        listen(json.encodeToJsonElement(HttpOptions().apply(options)) as JsonObject, judged(auth), verifier?.let(::verification))

    internal suspend fun listen(options: JsonObject, auth: JsonObject?, verify: Handler?): Listener =
        bind(OpenHandle(this), options, auth, verify)

    /**
     * Serves Streamable HTTP in the foreground, until SIGINT or SIGTERM arrives. Calls in flight may then complete within
     * `drainDeadline`. As [listen] and [Listener.run], but a signal is also handled while it opens.
     */
    public suspend fun serveHttp(auth: AuthOptions? = null, verifier: TokenVerifier? = null, options: HttpOptions.() -> Unit = {}): Unit =
        serveHttp(json.encodeToJsonElement(HttpOptions().apply(options)) as JsonObject, judged(auth), verifier?.let(::verification))

    internal suspend fun serveHttp(options: JsonObject, auth: JsonObject?, verify: Handler?) {
        val opened = OpenHandle(this)
        endedBySignals({ opened.close() }) { bind(opened, options, auth, verify).serve() }
    }

    private suspend fun bind(opened: OpenHandle, options: JsonObject, auth: JsonObject?, verify: Handler?): Listener {
        val bound = listen(opened, http(opened, auth, verify, options)) as JsonObject
        val port = (bound["port"] as? JsonPrimitive)?.intOrNull ?: 0
        return Listener(opened, bound.string("url").orEmpty(), bound.string("host").orEmpty(), port)
    }

    /**
     * An endpoint of Streamable HTTP in the program's own web server, whose adapter passes on requests. It takes the
     * options of [listen] except those of a socket, and serves every path that it gets, unless the options name one.
     *
     * @throws InvalidArgumentException if an option is invalid.
     */
    public fun endpoint(auth: AuthOptions? = null, verifier: TokenVerifier? = null, options: HttpOptions.() -> Unit = {}): HttpEndpoint =
        endpoint(json.encodeToJsonElement(HttpOptions().apply(options)) as JsonObject, judged(auth), verifier?.let(::verification))

    internal fun endpoint(options: JsonObject, auth: JsonObject?, verify: Handler?): HttpEndpoint {
        val mounted = "mounted" to TRUE
        val checked = JsonObject(http(null, null, null, options) + mounted)
        native { Port.core.check(objectOf("server" to number(handle), "transport" to checked).toString()) }
        return HttpEndpoint {
            val opened = OpenHandle(this)
            listen(opened, JsonObject(http(opened, auth, verify, options) + mounted))
            opened
        }
    }

    /** Checks the server's store, and returns what is wrong with it. This takes a few seconds. */
    public suspend fun checkStore(): List<String> {
        val findings = (Port.requests.send(handle, "checkStore") as JsonObject)["findings"] as? JsonArray
        return findings.orEmpty().map { it.jsonPrimitive.content }
    }

    /**
     * Closes all listeners, and removes all features. Calls in flight have [deadline] (by default, what `drainDeadline`
     * leaves to them).
     */
    public suspend fun close(deadline: Duration? = null) {
        coroutineScope { open.map { launch { it.close(deadline) } }.joinAll() }
        freed.clean()
    }

    private suspend fun listen(opened: OpenHandle, transport: JsonObject, vararg how: Pair<String, JsonElement>): JsonElement =
        opened.open(objectOf("server" to number(handle), "transport" to transport, *how))

    private fun http(opened: OpenHandle?, auth: JsonObject?, verify: Handler?, options: JsonObject): JsonObject {
        val verifying = if (verify == null || opened == null) null else verifying(verify, opened)
        val judged = auth?.let { JsonObject(it + objectOf("verifier" to verifying?.let(::number))) }
        return JsonObject(options + objectOf("type" to JsonPrimitive("http"), "auth" to judged))
    }

    private fun judged(auth: AuthOptions?): JsonObject? = auth?.let { json.encodeToJsonElement(it) as JsonObject }

    /** Opens the lifespan, keeps the server alive until this has ended, and closes it with the server. */
    internal suspend fun enter(opened: OpenHandle) {
        Port.observes(telemetry)
        open += opened
        USED += this
        owner.lifespan.enter(opened)
    }

    internal suspend fun leave(opened: OpenHandle) {
        owner.lifespan.leave(opened)
        open -= opened
        if (open.isEmpty()) USED -= this
    }

    private fun verification(verifier: TokenVerifier): Handler = {
        val identity = verifier.verify(TokenRequestFacts(json.decodeFromJsonElement(it), ticket))
        Answer(Shape.VALUE, jsonOf(identity?.let { json.encodeToJsonElement(it) }))
    }

    private fun verifying(verify: Handler, opened: OpenHandle): ULong {
        val callable = Callable("the verifier", owner, verify)
        val verifying = Port.register("verifier", objectOf("server" to number(handle)), mapOf("" to callable))
        opened.end.invokeOnCompletion { Registration(verifying).remove() }
        return verifying
    }

    private fun add(
        kind: String,
        name: String,
        options: JsonElement,
        vararg members: Pair<String, JsonElement?>,
        run: Handler? = null,
    ): Registration = Registration(register(kind, name, options, null, null, *members, run = run))

    /** Registers a feature, and the functions of its options, which it then keeps alive. */
    internal fun register(
        kind: String,
        name: String,
        options: JsonElement,
        hooks: FeatureOptions?,
        replaces: ULong?,
        vararg members: Pair<String, JsonElement?>,
        run: Handler? = null,
    ): ULong {
        val registered = mutableListOf<ULong>()
        val hook = { of: String, function: Handler ->
            val callable = mapOf("" to Callable("the $of of $kind $name", owner, function))
            number(Port.register(of, objectOf("server" to number(handle)), callable).also { registered += it })
        }
        try {
            val completers = hooks?.completers?.mapValues { (_, complete) -> hook("completer", complete) }
            val functions =
                objectOf(
                    "visible" to hooks?.visibility?.let { hook("visibility", it) },
                    "complete" to completers?.takeIf { it.isNotEmpty() }?.let(::JsonObject),
                    "replaces" to replaces?.let(::number),
                )
            val description = JsonObject((options as JsonObject) + functions + objectOf("server" to number(handle), *members))
            return Port.register(kind, description, run?.let { mapOf("" to Callable("$kind $name", owner, it)) }.orEmpty())
        } finally {
            for (one in registered) Registration(one).remove()
        }
    }

    private class Freeing(private val handle: ULong) : Runnable {
        override fun run() = Registration(handle).remove()
    }

    private companion object {
        val CLEANER: Cleaner = Cleaner.create()

        /** Servers that something serves or uses. */
        val USED: MutableSet<Server> = ConcurrentHashMap.newKeySet()

        fun register(info: Implementation, instructions: String?, options: ServerOptions, functions: Map<String, Callable>): ULong {
            val description =
                objectOf(
                    "info" to json.encodeToJsonElement(info),
                    "instructions" to instructions?.let(::JsonPrimitive),
                    "options" to json.encodeToJsonElement(options),
                    "store" to
                        functions.keys.takeIf {
                            it.isNotEmpty()
                        }?.let { names -> JsonObject(names.associateWith { JsonPrimitive("queue") }) },
                )
            return Port.register("server", description, functions)
        }
    }
}
