package peer

import io.modelcontextprotocol.kotlin.sdk.client.Client
import io.modelcontextprotocol.kotlin.sdk.client.ClientOptions
import io.modelcontextprotocol.kotlin.sdk.shared.RequestOptions
import io.modelcontextprotocol.kotlin.sdk.types.BaseNotificationParams
import io.modelcontextprotocol.kotlin.sdk.types.BlobResourceContents
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequest
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.CallToolResult
import io.modelcontextprotocol.kotlin.sdk.types.ClientCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequest
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequest
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageResult
import io.modelcontextprotocol.kotlin.sdk.types.CustomNotification
import io.modelcontextprotocol.kotlin.sdk.types.CustomRequest
import io.modelcontextprotocol.kotlin.sdk.types.ElicitResult
import io.modelcontextprotocol.kotlin.sdk.types.EmptyResult
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequest
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.ListResourceTemplatesRequest
import io.modelcontextprotocol.kotlin.sdk.types.ListToolsRequest
import io.modelcontextprotocol.kotlin.sdk.types.LoggingLevel
import io.modelcontextprotocol.kotlin.sdk.types.LoggingMessageNotification
import io.modelcontextprotocol.kotlin.sdk.types.McpException
import io.modelcontextprotocol.kotlin.sdk.types.McpJson
import io.modelcontextprotocol.kotlin.sdk.types.Method
import io.modelcontextprotocol.kotlin.sdk.types.Notification
import io.modelcontextprotocol.kotlin.sdk.types.PaginatedRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.PromptListChangedNotification
import io.modelcontextprotocol.kotlin.sdk.types.PromptReference
import io.modelcontextprotocol.kotlin.sdk.types.RPCError
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequest
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ResourceListChangedNotification
import io.modelcontextprotocol.kotlin.sdk.types.ResourceUpdatedNotification
import io.modelcontextprotocol.kotlin.sdk.types.Role
import io.modelcontextprotocol.kotlin.sdk.types.SubscribeRequest
import io.modelcontextprotocol.kotlin.sdk.types.SubscribeRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.TextContent
import io.modelcontextprotocol.kotlin.sdk.types.TextResourceContents
import io.modelcontextprotocol.kotlin.sdk.types.ToolListChangedNotification
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withTimeout
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.boolean
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import java.io.File
import kotlin.math.roundToLong
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/** A response or a notification may take this long. */
private val TIMEOUT = 4.seconds

private typealias Line = Map<String, JsonElement>

suspend fun playFile(file: String, target: List<String>) {
    val plays = Json.parseToJsonElement(File(file).readText()).jsonObject.getValue("plays").jsonArray
    for (part in plays.map { it.jsonObject }) {
        Player(part, part["target"]?.jsonArray?.map { it.jsonPrimitive.content } ?: target).play()
    }
}

/** Does [work], and prints a line about it. Returns whether it succeeded. */
private suspend fun timed(work: suspend () -> Line): Boolean {
    val start = TimeSource.Monotonic.markNow()
    val result = runCatching { work() }
    val line = result.getOrElse { mapOf("error" to JsonPrimitive(kindOf(it)), "message" to JsonPrimitive(it.message)) }
    val ms = JsonPrimitive((start.elapsedNow().inWholeMicroseconds / 100.0).roundToLong() / 10.0)
    println(JsonObject(line + ("ms" to ms)))
    return result.isSuccess
}

private fun kindOf(failure: Throwable) = when (failure) {
    is CancellationException -> "cancelled"
    is McpException -> if (failure.code == RPCError.ErrorCode.REQUEST_TIMEOUT) "timeout" else "protocol"
    else -> "other"
}

private fun names(member: String, names: List<String>) = mapOf(member to JsonArray(names.map(::JsonPrimitive)))

private fun JsonObject.text(name: String) = getValue(name).jsonPrimitive.content

private fun JsonObject.flag(name: String) = get(name)?.jsonPrimitive?.boolean == true

private fun JsonObject.duration(name: String) = get(name)?.jsonPrimitive?.long?.milliseconds

/** Plays the operations of a connection (../../vectors/README.md, "Vectors for clients"). */
private class Player(private val part: JsonObject, private val target: List<String>) {
    private val notifications = Channel<Notification>(100)
    private val capabilities =
        ClientCapabilities(
            sampling = ClientCapabilities.sampling,
            roots = ClientCapabilities.Roots(listChanged = true),
            elicitation = ClientCapabilities.elicitation,
        )

    // A server of 2024-11-05 cannot declare completions, and has them all the same.
    private val options = ClientOptions(capabilities, enforceStrictCapabilities = false)
    private val client = Client(Implementation("peer-kotlin", "1.0.0"), options)

    suspend fun play() {
        val opened = open(target, part.text("revision"), part["token"]?.jsonPrimitive?.content)
        val connected =
            timed {
                answer()
                client.connect(opened.transport)
                setLogLevel()
                mapOf("connected" to JsonPrimitive(opened.transport.negotiated))
            }
        if (connected) {
            for (operation in part.getValue("do").jsonArray) {
                for ((name, given) in operation.jsonObject) timed { perform(name, given.jsonObject) }
            }
        }
        client.close()
        opened.close()
    }

    private fun answer() {
        client.addRoot("file:///work", "work")
        client.setElicitationHandler { ElicitResult(ElicitResult.Action.Accept, JsonObject(emptyMap())) }
        client.setRequestHandler<CreateMessageRequest>(Method.Defined.SamplingCreateMessage) { _, _ ->
            CreateMessageResult(Role.Assistant, TextContent("Fine."), "fixture")
        }
        for (method in listOf(
            Method.Defined.NotificationsToolsListChanged,
            Method.Defined.NotificationsPromptsListChanged,
            Method.Defined.NotificationsResourcesListChanged,
            Method.Defined.NotificationsResourcesUpdated,
            Method.Defined.NotificationsMessage,
        )) {
            client.setNotificationHandler<Notification>(method) {
                notifications.trySend(it)
                CompletableDeferred(Unit)
            }
        }
    }

    private suspend fun setLogLevel() {
        val level = part["logLevel"]?.jsonPrimitive?.content ?: return
        if (client.serverCapabilities?.logging == null) return
        client.setLoggingLevel(LoggingLevel.entries.first { it.name.equals(level, ignoreCase = true) })
    }

    private suspend fun perform(name: String, given: JsonObject): Line = when (name) {
        "ping" -> {
            client.ping()
            mapOf("ping" to JsonPrimitive(true))
        }

        "callTool" -> callTool(given)

        "listTools" -> listTools(given.flag("page"))

        "listResources" -> names("resources", client.listResources().resources.map { it.uri })

        "listResourceTemplates" -> listTemplates()

        "listPrompts" -> names("prompts", client.listPrompts().prompts.map { it.name })

        "readResource" -> read(given.text("uri"))

        "getPrompt" -> prompt(given)

        "complete" -> complete(given)

        "subscribe" -> subscribe(given.getValue("to").jsonObject, given.text("call"))

        "log" -> log(given.text("call"))

        "request" -> request(given)

        "notify" -> notify(given)

        else -> error("the SDK has no operation $name")
    }

    private suspend fun listTools(page: Boolean): Line {
        var listed = client.listTools()
        if (page) return mapOf("more" to JsonPrimitive(listed.nextCursor != null))
        val tools = listed.tools.toMutableList()
        while (listed.nextCursor != null) {
            listed = client.listTools(ListToolsRequest(PaginatedRequestParams(listed.nextCursor)))
            tools += listed.tools
        }
        return names("tools", tools.map { it.name })
    }

    private suspend fun listTemplates(): Line {
        val templates = client.listResourceTemplates(ListResourceTemplatesRequest()).resourceTemplates
        return names("resourceTemplates", templates.map { it.uriTemplate })
    }

    private suspend fun call(tool: String, arguments: JsonObject? = null, options: RequestOptions? = null): CallToolResult =
        client.callTool(CallToolRequest(CallToolRequestParams(tool, arguments)), options)

    private suspend fun callTool(given: JsonObject): Line {
        val reported = Channel<Double>(100)
        val wantsProgress = given.flag("progress")
        val options =
            RequestOptions(
                onProgress = if (wantsProgress) { progress -> reported.trySend(progress.progress) } else null,
                timeout = given.duration("timeoutMs") ?: TIMEOUT,
            )
        val result =
            supervisorScope {
                val call = async { call(given.text("name"), given["arguments"]?.jsonObject, options) }
                given.duration("cancelMs")?.let { limit ->
                    delay(limit)
                    call.cancel()
                }
                call.await()
            }
        var progress: Double? = null
        // Notifications are handled beside the call.
        while (wantsProgress && progress != 100.0) progress = withTimeout(TIMEOUT) { reported.receive() }
        val encoded = McpJson.encodeToJsonElement(result).jsonObject
        return mapOf(
            "text" to JsonPrimitive((result.content.firstOrNull() as? TextContent)?.text),
            "isError" to JsonPrimitive(result.isError == true),
            "progress" to JsonPrimitive(progress),
            "content" to encoded.getValue("content"),
            "structured" to (result.structuredContent ?: JsonNull),
        )
    }

    private suspend fun read(uri: String): Line {
        val result = client.readResource(ReadResourceRequest(ReadResourceRequestParams(uri)))
        val contents =
            result.contents.map {
                when (it) {
                    is TextResourceContents -> it.text
                    is BlobResourceContents -> it.blob
                    else -> error("the contents of $uri are neither text nor bytes")
                }
            }
        return names("contents", contents)
    }

    private suspend fun prompt(given: JsonObject): Line {
        val arguments = given["arguments"]?.jsonObject?.mapValues { it.value.jsonPrimitive.content }
        val result = client.getPrompt(GetPromptRequest(GetPromptRequestParams(given.text("name"), arguments)))
        return names("messages", result.messages.mapNotNull { (it.content as? TextContent)?.text })
    }

    private suspend fun complete(given: JsonObject): Line {
        val reference = PromptReference(given.getValue("ref").jsonObject.text("name"))
        val argument = given.getValue("argument").jsonObject
        val asked = CompleteRequestParams.Argument(argument.text("name"), argument.text("value"))
        return names("values", client.complete(CompleteRequest(CompleteRequestParams(asked, reference))).completion.values)
    }

    /** Waits for a change that a tool causes. */
    private suspend fun subscribe(to: JsonObject, tool: String): Line {
        for (uri in to["resources"]?.jsonArray.orEmpty()) {
            client.subscribeResource(SubscribeRequest(SubscribeRequestParams(uri.jsonPrimitive.content)))
        }
        call(tool)
        return withTimeout(TIMEOUT) {
            var change: Line? = null
            while (change == null) change = changeOf(notifications.receive(), to)
            change
        }
    }

    private fun changeOf(notification: Notification, to: JsonObject): Line? {
        val kind =
            when (notification) {
                is ToolListChangedNotification -> "tools"
                is PromptListChangedNotification -> "prompts"
                is ResourceListChangedNotification -> "resourceList"
                is ResourceUpdatedNotification -> "resources"
                else -> return null
            }
        if (kind !in to) return null
        val uri = (notification as? ResourceUpdatedNotification)?.params?.uri ?: return mapOf("change" to JsonPrimitive(kind))
        return mapOf("change" to JsonPrimitive("resource"), "uri" to JsonPrimitive(uri))
    }

    /** Calls a tool, and waits for its messages up to an error. */
    private suspend fun log(tool: String): Line {
        call(tool)
        val said = mutableListOf<JsonElement>()
        withTimeout(TIMEOUT) {
            while (true) {
                val message = notifications.receive() as? LoggingMessageNotification ?: continue
                said += message.params.data
                if (message.params.level == LoggingLevel.Error) break
            }
        }
        return mapOf("logged" to JsonArray(said))
    }

    /** The SDK sends no parameters with a method that it does not know. */
    private suspend fun request(given: JsonObject): Line {
        check("params" !in given || given.text("method").startsWith("com.example/")) { "the SDK only sends its own requests" }
        client.request<EmptyResult>(CustomRequest(Method.Custom(given.text("method")), null))
        return mapOf("result" to JsonNull)
    }

    private suspend fun notify(given: JsonObject): Line {
        client.notification(CustomNotification(Method.Custom(given.text("method")), BaseNotificationParams()))
        return mapOf("notified" to JsonPrimitive(true))
    }
}
