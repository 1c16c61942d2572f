package peer

import io.modelcontextprotocol.kotlin.sdk.server.ClientConnection
import io.modelcontextprotocol.kotlin.sdk.server.Server
import io.modelcontextprotocol.kotlin.sdk.server.ServerOptions
import io.modelcontextprotocol.kotlin.sdk.shared.currentRequestHandlerExtra
import io.modelcontextprotocol.kotlin.sdk.types.AudioContent
import io.modelcontextprotocol.kotlin.sdk.types.BlobResourceContents
import io.modelcontextprotocol.kotlin.sdk.types.CallToolRequest
import io.modelcontextprotocol.kotlin.sdk.types.CallToolResult
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequest
import io.modelcontextprotocol.kotlin.sdk.types.CompleteResult
import io.modelcontextprotocol.kotlin.sdk.types.ContentBlock
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequest
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ElicitRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.EmbeddedResource
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptResult
import io.modelcontextprotocol.kotlin.sdk.types.ImageContent
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.LoggingLevel
import io.modelcontextprotocol.kotlin.sdk.types.LoggingMessageNotification
import io.modelcontextprotocol.kotlin.sdk.types.LoggingMessageNotificationParams
import io.modelcontextprotocol.kotlin.sdk.types.Method
import io.modelcontextprotocol.kotlin.sdk.types.ProgressNotification
import io.modelcontextprotocol.kotlin.sdk.types.ProgressNotificationParams
import io.modelcontextprotocol.kotlin.sdk.types.PromptArgument
import io.modelcontextprotocol.kotlin.sdk.types.PromptMessage
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceResult
import io.modelcontextprotocol.kotlin.sdk.types.ResourceLink
import io.modelcontextprotocol.kotlin.sdk.types.ResourceUpdatedNotification
import io.modelcontextprotocol.kotlin.sdk.types.ResourceUpdatedNotificationParams
import io.modelcontextprotocol.kotlin.sdk.types.Role
import io.modelcontextprotocol.kotlin.sdk.types.SamplingMessage
import io.modelcontextprotocol.kotlin.sdk.types.ServerCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.StringSchema
import io.modelcontextprotocol.kotlin.sdk.types.TextContent
import io.modelcontextprotocol.kotlin.sdk.types.TextResourceContents
import io.modelcontextprotocol.kotlin.sdk.types.ToolSchema
import kotlinx.coroutines.delay
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.double
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import kotlinx.serialization.json.put
import java.util.concurrent.atomic.AtomicInteger

private const val PNG =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
private const val WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="
private const val WATCHED = "test://watched-resource"

/** Makes names unique, because clients that share the server may call at the same time. */
private val number = AtomicInteger()

/** A server for a session of this caller. */
fun newServer(caller: String = "nobody"): Server {
    val capabilities =
        ServerCapabilities(
            tools = ServerCapabilities.Tools(listChanged = true),
            resources = ServerCapabilities.Resources(listChanged = true, subscribe = true),
            prompts = ServerCapabilities.Prompts(listChanged = true),
            logging = ServerCapabilities.Logging,
            completions = ServerCapabilities.Completions,
        )
    val server = Server(Implementation("peer-kotlin", "1.0.0"), ServerOptions(capabilities))
    server.addTools(caller)
    server.addRunning()
    server.addAsking()
    server.addChanging()
    server.addResources()
    server.addPrompts()
    return server
}

private fun Server.offer(
    name: String,
    members: Map<String, String> = emptyMap(),
    handle: suspend ClientConnection.(CallToolRequest) -> CallToolResult,
) = addTool(name, name, schemaOf(members), handler = handle)

private fun schemaOf(members: Map<String, String>) =
    ToolSchema(properties = JsonObject(members.mapValues { buildJsonObject { put("type", it.value) } }))

private fun Server.block(name: String, content: ContentBlock) = offer(name) { CallToolResult(listOf(content)) }

private fun text(said: String) = CallToolResult(listOf(TextContent(said)))

private fun CallToolRequest.given(name: String) = arguments!!.getValue(name).jsonPrimitive

private fun Server.addTools(caller: String) {
    offer("echo", mapOf("message" to "string")) { text(it.given("message").content) }
    offer("add_numbers", mapOf("a" to "number", "b" to "number")) {
        val sum = it.given("a").double + it.given("b").double
        text(if (sum % 1 == 0.0) sum.toLong().toString() else sum.toString())
    }
    block("test_image_content", ImageContent(PNG, "image/png"))
    block("test_audio_content", AudioContent(WAV, "audio/wav"))
    val embedded = TextResourceContents("This is an embedded resource content.", "test://embedded-resource", "text/plain")
    block("test_embedded_resource", EmbeddedResource(embedded))
    block("test_resource_link", ResourceLink("static-text", "test://static-text"))
    val output = schemaOf(mapOf("city" to "string", "temperature" to "number"))
    addTool("structured", "structured", schemaOf(mapOf("city" to "string")), outputSchema = output) { call ->
        val structured =
            buildJsonObject {
                put("city", call.given("city"))
                put("temperature", 21.5)
            }
        CallToolResult(listOf(TextContent(structured.toString())), structuredContent = structured)
    }
    offer("test_error_handling") { error("This tool intentionally returns an error for testing") }
    offer("test_whoami") { text("caller: $caller") }
}

private fun Server.addRunning() {
    offer("slow", mapOf("ms" to "integer")) {
        delay(it.given("ms").long)
        text("done")
    }
    offer("test_tool_with_progress") { call ->
        for (done in listOf(0.0, 50.0, 100.0)) {
            call.meta?.progressToken?.let { token ->
                val progress = ProgressNotification(ProgressNotificationParams(token, done, 100.0))
                currentRequestHandlerExtra()?.sendNotification(progress)
            }
            delay(50)
        }
        text("done")
    }
    offer("test_logging_tool") {
        sendLoggingMessage(log(LoggingLevel.Info, "an information"))
        sendLoggingMessage(log(LoggingLevel.Error, "an error"))
        text("logged twice")
    }
}

private fun log(level: LoggingLevel, said: String) =
    LoggingMessageNotification(LoggingMessageNotificationParams(level, JsonPrimitive(said)))

private fun Server.addAsking() {
    offer("test_elicitation_sep1034_defaults") {
        val form = ElicitRequestParams.RequestedSchema(properties = mapOf("name" to StringSchema(default = "John Doe")))
        text("action: ${createElicitation("Please review the defaults", form).action.name.lowercase()}")
    }
    offer("test_sampling", mapOf("prompt" to "string")) { call ->
        val message = SamplingMessage(Role.User, TextContent(call.given("prompt").content))
        val answer = createMessage(CreateMessageRequest(CreateMessageRequestParams(100, listOf(message))))
        text("LLM response: ${(answer.content.first() as TextContent).text}")
    }
    offer("test_roots") { text("roots: ${listRoots().roots.joinToString { it.uri }}") }
}

private fun Server.addChanging() {
    changes("test_trigger_tool_change", { offer(it) { text("") } }, { removeTool(it) })
    changes("test_trigger_prompt_change", { prompt(it) { "" } }, { removePrompt(it) })
    changes("test_trigger_resource_change", { resource(it, "") }, { removeResource("test://$it") })
    offer("test_update_resource") {
        sendResourceUpdated(ResourceUpdatedNotification(ResourceUpdatedNotificationParams(WATCHED)))
        text("changed")
    }
}

private fun Server.changes(tool: String, add: (String) -> Unit, remove: (String) -> Unit) = offer(tool) {
    val name = "added_${number.incrementAndGet()}"
    add(name)
    delay(20)
    remove(name)
    text("changed")
}

private fun Server.resource(name: String, said: String) = addResource("test://$name", name, name, "text/plain") {
    ReadResourceResult(listOf(TextResourceContents(said, it.uri, "text/plain")))
}

private fun Server.addResources() {
    resource("static-text", "This is the content of the static text resource.")
    resource("watched-resource", "Watched resource content")
    addResource("test://static-binary", "static-binary", "static-binary", "image/png") {
        ReadResourceResult(listOf(BlobResourceContents(PNG, it.uri, "image/png")))
    }
    addResourceTemplate("test://template/{id}/data", "template", mimeType = "application/json") { request, variables ->
        val id = variables.getValue("id")
        val data = """{"id":"$id","templateTest":true,"data":"Data for ID: $id"}"""
        ReadResourceResult(listOf(TextResourceContents(data, request.uri, "application/json")))
    }
}

private fun Server.prompt(name: String, vararg arguments: String, say: (Map<String, String>) -> String) =
    addPrompt(name, arguments = arguments.map { PromptArgument(it, required = true) }) { request ->
        GetPromptResult(listOf(PromptMessage(Role.User, TextContent(say(request.arguments.orEmpty())))))
    }

private fun Server.addPrompts() {
    prompt("test_simple_prompt") { "This is a simple prompt for testing." }
    prompt("test_prompt_with_arguments", "arg1", "arg2") { "Prompt with arguments: arg1='${it["arg1"]}', arg2='${it["arg2"]}'" }
    // The SDK has no registration for completion: each session has a handler.
    onConnect {
        for (session in sessions.values) {
            session.setRequestHandler<CompleteRequest>(Method.Defined.CompletionComplete) { request, _ ->
                val words = listOf("paris", "park", "party").filter { it.startsWith(request.argument.value) }
                CompleteResult(CompleteResult.Completion(words))
            }
        }
    }
}
