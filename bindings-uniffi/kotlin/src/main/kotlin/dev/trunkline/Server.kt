package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.coroutineScope
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.intOrNull
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
    onError: ((Throwable, Context) -> Unit)? = null,
    features: Server.() -> Unit = {},
): Server = Server(Implementation(name = name, version = version), instructions, ServerOptions().apply(options), dispatcher, onError).apply(features)

/**
 * A server of tools, resources, prompts and skills for clients of every protocol revision. One server handles all
 * connections and requests of a process, on any number of transports. Features can be added and removed at any time.
 *
 * Handlers run on the dispatcher of the server, each as a coroutine that is cancelled with its call. Handlers that
 * block should run on [Dispatchers.IO].
 *
 * @property info Name and version.
 * @param onError Called with exceptions of handlers whose callers get a generic message.
 */
public class Server(
    public val info: Implementation,
    instructions: String? = null,
    options: ServerOptions = ServerOptions(),
    dispatcher: CoroutineDispatcher = Dispatchers.Default,
    onError: ((Throwable, Context) -> Unit)? = null,
) {
    private val owner = Owner(dispatcher, onError)
    internal val handle: ULong = register(info, instructions, options)

    /** What serves or uses this server. */
    private val open: MutableSet<OpenHandle> = ConcurrentHashMap.newKeySet()

    /** Frees the server if it is dropped without `close`. What is open keeps it alive. */
    private val freed = CLEANER.register(this, Freeing(handle))

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
    ): Registration = tool(name, description, options, serializer<A>(), null, handler)

    /** Adds a tool with structured results: its output schema is that of the serializable class [R]. */
    @JvmName("structuredTool")
    public inline fun <reified A : Any, reified R> tool(
        name: String,
        description: String? = null,
        noinline options: ToolOptions.() -> Unit = {},
        noinline handler: suspend Context.(A) -> R,
    ): Registration = tool(name, description, options, serializer<A>(), serializer<R>(), handler)

    @PublishedApi
    internal fun <A, R> tool(
        name: String,
        description: String?,
        options: ToolOptions.() -> Unit,
        arguments: KSerializer<A>,
        result: KSerializer<R>?,
        handler: suspend Context.(A) -> R,
    ): Registration {
        val handled = Handled(arguments, result, handler)
        val given = ToolOptions().apply(options)
        handled.outputSchema?.let { given.outputSchema = it.schema }
        return tool(name, description, handled.inputSchema, given, handled.outputSchema?.isWrapped ?: false) { handled.run(this, it) }
    }

    /** Adds a tool with a JSON Schema. Without one, it takes no arguments. */
    public fun tool(
        name: String,
        description: String? = null,
        inputSchema: JsonObject? = null,
        options: ToolOptions.() -> Unit = {},
        handler: suspend Context.(JsonObject) -> Any?,
    ): Registration = tool(name, description, inputSchema, ToolOptions().apply(options), false) { answerOf(handler(it as JsonObject)) }

    private fun tool(
        name: String,
        description: String?,
        inputSchema: JsonObject?,
        options: ToolOptions,
        isWrapped: Boolean,
        run: suspend Context.(JsonElement) -> Answer,
    ): Registration {
        if (description != null) options.description = description
        val tool = json.encodeToJsonElement(options.tool(name, inputSchema ?: NOTHING)) as JsonObject
        val described = if (inputSchema == null) JsonObject(tool - "inputSchema") else tool
        return register("tool", name, json.encodeToJsonElement(options), "tool" to described, "wrapOutput" to JsonPrimitive(isWrapped), run = run)
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
    ): Registration {
        val given = ResourceOptions().apply(options)
        if (description != null) given.description = description
        if (mimeType != null) given.mimeType = mimeType
        val isTemplate = "{" in uri
        val kind = if (isTemplate) "resourceTemplate" else "resource"
        val described =
            if (isTemplate) {
                json.encodeToJsonElement(given.resourceTemplate(uriTemplate = uri, name = name))
            } else {
                json.encodeToJsonElement(given.resource(uri = uri, name = name))
            }
        return register(kind, name, json.encodeToJsonElement(given), kind to described) { answerOf(handler(ResourceRequest(it as JsonObject))) }
    }

    /** Adds a prompt. Strings and content blocks become messages of the user. */
    public fun prompt(
        name: String,
        description: String? = null,
        arguments: List<PromptArgument>? = null,
        options: PromptOptions.() -> Unit = {},
        handler: suspend Context.(Map<String, String>) -> Any?,
    ): Registration {
        val given = PromptOptions().apply(options)
        if (description != null) given.description = description
        val described = json.encodeToJsonElement(given.prompt(name, arguments))
        return register("prompt", name, json.encodeToJsonElement(given), "prompt" to described) { answerOf(handler(strings(it))) }
    }

    /** Adds completions of an argument of a prompt or a resource template: a list of strings, or a [Completion]. */
    public fun completion(
        reference: CompletionReference,
        argument: String,
        handler: suspend Context.(CompletionRequest) -> Any?,
    ): Registration =
        register(
            "completion",
            argument,
            NOTHING,
            "ref" to json.encodeToJsonElement(reference),
            "argument" to JsonPrimitive(argument),
        ) { completionOf(handler(json.decodeFromJsonElement(it))) }

    /** Adds middleware for some methods, or for all that can be wrapped. The first one added is outermost. */
    public fun middleware(
        vararg methods: String,
        handler: suspend Context.(MiddlewareRequest) -> JsonObject,
    ): Registration =
        register("middleware", "middleware", NOTHING, "methods" to methods.toList().ifEmpty { null }?.let(::jsonOf)) {
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
        return register("requestHandler", method, given, "method" to JsonPrimitive(method)) { Answer(Shape.VALUE, jsonOf(handler(it as JsonObject))) }
    }

    /** Adds a provider to a list: `tools`, `resources`, `resourceTemplates` or `prompts`. */
    public fun provider(
        of: String,
        provider: Provider,
    ): Registration =
        register("provider", "the provider of $of", NOTHING, "of" to JsonPrimitive(of)) {
            val request = it as JsonObject
            val list = request["list"] as? JsonObject
            if (list == null) {
                answerOf(provider.get(request["get"] as? JsonObject ?: NOTHING))
            } else {
                Answer(Shape.VALUE, json.encodeToJsonElement(provider.list(list.string("cursor"))))
            }
        }

    /** Adds an agent skill: its files by path, with a `SKILL.md` that names it. */
    public fun skill(
        files: Map<String, String>,
        options: SkillOptions.() -> Unit = {},
    ): Registration = skill("files" to json.encodeToJsonElement(files.map { (path, text) -> SkillFile(path = path, text = text) }), options)

    /** Adds an agent skill: a folder with a `SKILL.md` that names it. */
    public fun skill(
        folder: Path,
        options: SkillOptions.() -> Unit = {},
    ): Registration = skill("folder" to JsonPrimitive(folder.toString()), options)

    private fun skill(
        source: Pair<String, JsonElement>,
        options: SkillOptions.() -> Unit,
    ): Registration = register("skill", "skill", json.encodeToJsonElement(SkillOptions().apply(options)), source)

    /** Adds a folder whose files are served as resources, below [uri]. They are read on request. */
    public fun directory(
        uri: String,
        path: Path,
        options: DirectoryOptions.() -> Unit = {},
    ): Registration {
        val given = json.encodeToJsonElement(DirectoryOptions().apply(options))
        return register("directory", uri, given, "uri" to JsonPrimitive(uri), "path" to JsonPrimitive(path.toString()))
    }

    /** Adds the features of another server, named `prefix__name` and `prefix+uri`. */
    public fun mount(
        prefix: String,
        other: Server,
    ): Registration = register("mount", prefix, NOTHING, "prefix" to JsonPrimitive(prefix), "mounted" to number(other.handle))

    /** Adds the features of the server behind a client. */
    public fun proxy(
        client: Client,
        options: ProxyOptions.() -> Unit = {},
    ): Registration = register("proxy", "proxy", json.encodeToJsonElement(ProxyOptions().apply(options)), "connection" to number(client.handle))

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
        val opened = OpenHandle(handle)
        Port.notify(NONE, objectOf("holdStdio" to TRUE))
        val error =
            endedBySignals({ opened.close() }) {
                listen(opened, objectOf("type" to JsonPrimitive("stdio")), "foreground" to TRUE, "signals" to TRUE)
                opened.end.await()
            }
        if (error != null) throw error
    }

    /** Listens for Streamable HTTP. With [auth], requests need an access token, which [verifier] verifies. */
    public suspend fun listen(
        auth: AuthOptions? = null,
        verifier: TokenVerifier? = null,
        options: HttpOptions.() -> Unit = {},
    ): Listener {
        val opened = OpenHandle(handle)
        val verifying = verifier?.let { verifying(it, opened) }
        val judged = auth?.let { JsonObject((json.encodeToJsonElement(it) as JsonObject) + objectOf("verifier" to verifying?.let(::number))) }
        val http = json.encodeToJsonElement(HttpOptions().apply(options)) as JsonObject
        val bound = listen(opened, JsonObject(http + objectOf("type" to JsonPrimitive("http"), "auth" to judged))) as JsonObject
        val port = (bound["port"] as? JsonPrimitive)?.intOrNull ?: 0
        return Listener(opened, bound.string("url").orEmpty(), bound.string("host").orEmpty(), port)
    }

    /**
     * Closes all listeners, and removes all features. Calls in flight have [deadline] (by default, what `drainDeadline`
     * leaves to them).
     */
    public suspend fun close(deadline: Duration? = null) {
        coroutineScope { open.map { launch { it.close(deadline) } }.joinAll() }
        freed.clean()
    }

    private suspend fun listen(
        opened: OpenHandle,
        transport: JsonObject,
        vararg how: Pair<String, JsonElement>,
    ): JsonElement {
        enter(opened)
        return opened.open(objectOf("server" to number(handle), "transport" to transport, *how))
    }

    /** Keeps the server alive until this has ended, and closes it with the server. */
    internal fun enter(opened: OpenHandle) {
        open += opened
        USED += this
        opened.end.invokeOnCompletion {
            open -= opened
            if (open.isEmpty()) USED -= this
        }
    }

    private fun verifying(
        verifier: TokenVerifier,
        opened: OpenHandle,
    ): ULong {
        val callable =
            Callable("the verifier", owner) {
                Answer(Shape.VALUE, jsonOf(verifier.verify(TokenRequestFacts(json.decodeFromJsonElement(it), ticket))?.let { json.encodeToJsonElement(it) }))
            }
        val verifying = Port.register("verifier", objectOf("server" to number(handle)), callable)
        opened.end.invokeOnCompletion { Registration(verifying).remove() }
        return verifying
    }

    private fun register(
        kind: String,
        name: String,
        options: JsonElement,
        vararg members: Pair<String, JsonElement?>,
        run: (suspend Context.(JsonElement) -> Answer)? = null,
    ): Registration {
        val description = JsonObject((options as JsonObject) + objectOf("server" to number(handle), *members))
        return Registration(Port.register(kind, description, run?.let { Callable("$kind $name", owner, it) }))
    }

    private class Freeing(
        private val handle: ULong,
    ) : Runnable {
        override fun run() = Registration(handle).remove()
    }

    private companion object {
        val CLEANER: Cleaner = Cleaner.create()

        /** Servers that something serves or uses. */
        val USED: MutableSet<Server> = ConcurrentHashMap.newKeySet()

        fun register(
            info: Implementation,
            instructions: String?,
            options: ServerOptions,
        ): ULong =
            Port.register(
                "server",
                objectOf(
                    "info" to json.encodeToJsonElement(info),
                    "instructions" to instructions?.let(::JsonPrimitive),
                    "options" to json.encodeToJsonElement(options),
                ),
            )
    }
}
