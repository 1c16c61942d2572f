package dev.trunkline

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.encodeToJsonElement

/** A connection to a server. */
public class Client private constructor(override val connection: Connection, override var opened: ConnectionDescription) :
    ConnectedClient() {
    /** Runs [work], and closes the connection, even if the coroutine is cancelled. */
    public suspend inline fun <T> use(work: (Client) -> T): T = try {
        work(this)
    } finally {
        withContext(NonCancellable) { close() }
    }

    public companion object {
        /** Connects to a server at a URL. */
        public suspend fun connect(
            url: String,
            endpoint: EndpointOptions.() -> Unit = {},
            auth: OAuthOptions? = null,
            options: ClientOptions.() -> Unit = {},
        ): Client {
            val given = json.encodeToJsonElement(EndpointOptions().apply(endpoint)) as JsonObject
            return open(JsonObject(given + objectOf("type" to JsonPrimitive("http"), "url" to JsonPrimitive(url))), auth, options)
        }

        /** Starts a program that serves over its stdin and stdout, and connects to it. */
        public suspend fun connect(
            command: List<String>,
            process: ChildOptions.() -> Unit = {},
            options: ClientOptions.() -> Unit = {},
        ): Client {
            val given = json.encodeToJsonElement(ChildOptions().apply(process)) as JsonObject
            return open(JsonObject(given + objectOf("type" to JsonPrimitive("child"), "command" to jsonOf(command))), null, options)
        }

        /** Connects to a server in this process. */
        public suspend fun connect(server: Server, options: ClientOptions.() -> Unit = {}): Client =
            open(objectOf("type" to JsonPrimitive("memory"), "server" to number(server.handle)), null, options, server)

        /** Connects to a server of a configuration: an entry of `mcpServers`, or a configuration with one server. */
        public suspend fun connect(configuration: JsonObject, auth: OAuthOptions? = null, options: ClientOptions.() -> Unit = {}): Client =
            open(objectOf("type" to JsonPrimitive("config"), "server" to configuration), auth, options)

        /** Connects by a transport of the program. */
        public suspend fun connect(transport: Transport, options: ClientOptions.() -> Unit = {}): Client =
            open(objectOf("type" to JsonPrimitive("channel")), null, options, functions = transport.functions())

        private suspend fun open(
            transport: JsonObject,
            auth: OAuthOptions?,
            options: ClientOptions.() -> Unit,
            server: Server? = null,
            functions: Map<String, suspend (JsonObject) -> JsonObject> = emptyMap(),
        ): Client = Connection.open(transport, auth, options, server, functions, ::Client)
    }
}
