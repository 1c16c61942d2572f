package dev.trunkline

import kotlinx.serialization.KSerializer
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.serializer

/** A registered feature. */
public open class Registration internal constructor(@Volatile internal var handle: ULong) {
    /** Removes the feature and notifies connected clients. Calling it again has no effect. */
    public fun remove(): Unit = synchronized(this) {
        try {
            native { Port.core.unregister(handle) }
        } catch (_: InvalidArgumentException) {
            // The feature is already removed, by itself or with its server.
        }
    }

    /** Shows the feature again. */
    public fun enable(): Unit = synchronized(this) { Port.notify(handle, objectOf("enabled" to true)) }

    /** Hides the feature: it is not listed, and calls of it fail as if it did not exist. */
    public fun disable(): Unit = synchronized(this) { Port.notify(handle, objectOf("enabled" to false)) }
}

/** The functions among the options of a tool, a resource, a resource template or a prompt. */
public abstract class FeatureOptions internal constructor() : Cloneable {
    internal var visibility: Handler? = null
    internal var completers: Map<String, Handler> = emptyMap()

    internal fun copy(): FeatureOptions = clone() as FeatureOptions

    /** Decides per caller, given its [Context], whether it can see and call the feature. */
    public fun visible(decide: suspend Context.() -> Boolean) {
        visibility = { Answer(Shape.VALUE, JsonPrimitive(decide())) }
    }

    /** Suggests values of an argument of a prompt or a resource template: a list of strings, or a [Completion]. */
    public fun complete(argument: String, suggest: suspend Context.(CompletionRequest) -> Any?) {
        completers += argument to { completionOf(suggest(decoded(it))) }
    }
}

/** A registered tool, resource, resource template or prompt, whose options can change. */
public class ChangeableRegistration<O : FeatureOptions> internal constructor(
    private var options: O,
    private val register: (O, replaces: ULong?) -> ULong,
) : Registration(register(options, null)) {

    /**
     * Changes options, such as the description. Those that [change] doesn't set keep their values.
     *
     * @throws InvalidArgumentException if the changed feature is invalid, which leaves it unchanged.
     */
    public fun update(change: O.() -> Unit) {
        synchronized(this) {
            @Suppress("UNCHECKED_CAST")
            val changed = (options.copy() as O).apply(change)
            handle = register(changed, handle)
            options = changed
        }
    }
}

/** The request to read a resource. */
public class ResourceRequest internal constructor(body: JsonObject) {
    /** The URI of the resource. */
    public val uri: String = body.string("uri").orEmpty()
    private val variables = body["variables"] as? JsonObject ?: NOTHING

    /** The value of a variable of the URI template; null if the URI omits it. */
    public operator fun get(name: String): String? = (variables[name] as? JsonPrimitive)?.contentOrNull

    /** The values of a variable with `*`. */
    public fun list(name: String): List<String> =
        (variables[name] as? JsonArray).orEmpty().mapNotNull { (it as? JsonPrimitive)?.contentOrNull }
}

/** The request to complete an argument. */
@Serializable
public class CompletionRequest internal constructor(private val argument: CompleteArgument, private val context: CompleteContext? = null) {
    /** The text typed so far. */
    public val value: String get() = argument.value

    /** The other arguments that have a value. */
    public val arguments: Map<String, String> get() = context?.arguments.orEmpty()
}

/** A request on its way to a handler. */
public class MiddlewareRequest internal constructor(
    /** The protocol method, such as `tools/call`. */
    public val method: String,
    /** The parameters; empty if there are none. */
    public val params: JsonObject,
    private val context: Context,
) {
    /** Runs the rest of the request. Pass [params] to replace those of the request. */
    public suspend fun next(params: JsonObject? = null): JsonObject = context.proceed(params)
}

/** A page of a provider: its items in the form of the protocol, and the cursor of the next page. */
@Serializable
public class ProviderPage(public val items: List<JsonObject>, public val nextCursor: String? = null)

/** A provider of features that are not registered, such as rows of a database. */
public interface Provider {
    /** Lists the page at a cursor; the first page if there is none. */
    public suspend fun list(cursor: String?): ProviderPage

    /** Returns what a handler would for the parameters of a request; null if there is no such feature. */
    public suspend fun get(params: JsonObject): Any?
}

/** Verifies access tokens, which must be for the `resource` of the request, on [kotlinx.coroutines.Dispatchers.IO]. */
public fun interface TokenVerifier {
    /** The identity of the caller; null if the token is unknown. */
    public suspend fun verify(token: TokenRequestFacts): Identity?
}

/** The HTTP request with an access token to verify. */
public class TokenRequestFacts internal constructor(given: AccessToken, context: ULong) : TokenFacts(given) {
    override val described: VerificationDescription by lazy { decoded(Port.describe(context)) }
}

/** Thrown by a [TokenVerifier] to refuse a token with a message for the client. */
public class TokenException(
    message: String,
    /** The scopes that the token lacks, if any. */
    public val scopes: List<String>? = null,
) : RuntimeException(message)

/** The serializer of a type that a feature names. */
@PublishedApi
internal inline fun <reified T> serializerOf(feature: String): KSerializer<T> = try {
    serializer<T>()
} catch (error: SerializationException) {
    throw InvalidArgumentException("$feature: ${error.message}", cause = error)
}

/** How a class is read from arguments, and written as a result. */
internal class Handled<A, R>(
    private val arguments: KSerializer<A>,
    private val result: KSerializer<R>?,
    private val handler: suspend Context.(A) -> R,
) {
    val inputSchema: JsonObject = argumentsSchemaOf(arguments.descriptor).withDefaultsOf(arguments)
    val outputSchema: OutputSchema? = result?.let { OutputSchema(it.descriptor) }

    suspend fun run(context: Context, body: JsonElement): Answer {
        val returned = handler(context, read(body))
        // Text is not quoted, whether it has a schema or not.
        if (result == null || returned is String) return answerOf(returned)
        val value = values.encodeToJsonElement(result, returned)
        return if (outputSchema?.isWrapped == true) Answer(Shape.VALUE, value) else answerOf(value)
    }

    private fun read(body: JsonElement): A = try {
        valueOf(arguments, body)
    } catch (error: IllegalArgumentException) {
        // Of the serializer, or of a `require` in the class, which is the cause.
        throw InvalidArguments(error.cause as? IllegalArgumentException ?: error)
    }
}

internal fun completionOf(value: Any?): Answer =
    if (value is Completion) Answer(Shape.OBJECT, encoded(value)) else Answer(Shape.VALUE, jsonOf(value))

/** The strings of an object, as the arguments of a prompt are. */
internal fun strings(body: JsonElement): Map<String, String> =
    (body as JsonObject).filterValues { it !is JsonNull }.mapValues { (_, value) -> (value as? JsonPrimitive)?.content ?: value.toString() }
