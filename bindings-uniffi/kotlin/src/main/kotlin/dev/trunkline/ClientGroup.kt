package dev.trunkline

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.nio.file.Path

/** A server of a [ClientGroup]. */
public class GroupTarget private constructor(internal val json: JsonElement) {
    /** A server at a URL. */
    public constructor(url: String) : this(JsonPrimitive(url))

    /** A program that serves over its stdin and stdout. */
    public constructor(command: List<String>) : this(jsonOf(command))

    /** A client, whose connection the group shares and does not close. */
    public constructor(client: ConnectedClient) : this(objectOf("connection" to client.handle) as JsonElement)

    /** An entry of `mcpServers`. */
    public constructor(entry: JsonObject) : this(entry as JsonElement)
}

/**
 * A client of many servers, which routes each request to the right one.
 *
 * Tools and prompts are named `server__name`, and resources are `server+uri`. A server that cannot be reached does not
 * affect the others: [servers] has its error, and the next request to it reconnects. Handlers such as `onElicit` answer
 * all servers; the `serverName` of a request names the one that asks.
 */
public class ClientGroup private constructor(connection: Connection) : GroupOperations(connection) {
    /** Adds a server. If connecting to it fails, it stays in the group, and the next request to it reconnects. */
    public suspend fun addServer(name: String, target: GroupTarget, options: RequestOptions.() -> Unit = {}): Unit =
        addServer(name, target.json, options)

    /** Runs [work], and closes the connection, even if the coroutine is cancelled. */
    public suspend inline fun <T> use(work: (ClientGroup) -> T): T = try {
        work(this)
    } finally {
        withContext(NonCancellable) { close() }
    }

    public companion object {
        /** Connects to servers by name. The options apply to each connection. */
        public suspend fun connect(
            servers: Map<String, GroupTarget>,
            endpoint: EndpointOptions.() -> Unit = {},
            process: ChildOptions.() -> Unit = {},
            auth: OAuthOptions? = null,
            options: ClientOptions.() -> Unit = {},
        ): ClientGroup = connect(JsonObject(servers.mapValues { it.value.json }), defaults(endpoint, process), auth, options)

        /** Connects to the servers of a configuration with `mcpServers`. */
        public suspend fun connect(
            configuration: JsonObject,
            endpoint: EndpointOptions.() -> Unit = {},
            process: ChildOptions.() -> Unit = {},
            auth: OAuthOptions? = null,
            options: ClientOptions.() -> Unit = {},
        ): ClientGroup = connect(configuration, defaults(endpoint, process), auth, options)

        /** Connects to the servers of a file with `mcpServers`. */
        public suspend fun connect(
            configuration: Path,
            endpoint: EndpointOptions.() -> Unit = {},
            process: ChildOptions.() -> Unit = {},
            auth: OAuthOptions? = null,
            options: ClientOptions.() -> Unit = {},
        ): ClientGroup = connect(JsonPrimitive(configuration.toString()), defaults(endpoint, process), auth, options)

        private suspend fun connect(servers: JsonElement, defaults: JsonObject, auth: OAuthOptions?, options: ClientOptions.() -> Unit) =
            ClientGroup(Connection.open(objectOf("type" to "group", "servers" to servers, "defaults" to defaults), auth, options))

        private fun defaults(endpoint: EndpointOptions.() -> Unit, process: ChildOptions.() -> Unit) =
            JsonObject(encoded(EndpointOptions().apply(endpoint)) + encoded(ChildOptions().apply(process)))
    }
}
