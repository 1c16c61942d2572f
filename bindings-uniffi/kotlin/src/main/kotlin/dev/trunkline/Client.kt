package dev.trunkline

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonObject

/** A connection to a server. */
public class Client private constructor(connection: Connection) : ConnectedClient(connection) {
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
        ): Client = Client(Connection.open(encoded(EndpointOptions().apply(endpoint)).with("type" to "http", "url" to url), auth, options))

        /** Starts a program that serves over its stdin and stdout, and connects to it. */
        public suspend fun connect(
            command: List<String>,
            process: ChildOptions.() -> Unit = {},
            options: ClientOptions.() -> Unit = {},
        ): Client =
            Client(Connection.open(encoded(ChildOptions().apply(process)).with("type" to "child", "command" to command), null, options))

        /** Connects to a server in this process. */
        public suspend fun connect(server: Server, options: ClientOptions.() -> Unit = {}): Client =
            Client(Connection.open(objectOf("type" to "memory", "server" to server.handle), null, options, server))

        /** Connects to a server of a configuration: an entry of `mcpServers`, or a configuration with one server. */
        public suspend fun connect(configuration: JsonObject, auth: OAuthOptions? = null, options: ClientOptions.() -> Unit = {}): Client =
            Client(Connection.open(objectOf("type" to "config", "server" to configuration), auth, options))

        /** Connects through a custom transport. */
        public suspend fun connect(transport: Transport, options: ClientOptions.() -> Unit = {}): Client =
            Client(Connection.open(objectOf("type" to "channel"), null, options, functions = transport.functions()))
    }
}
