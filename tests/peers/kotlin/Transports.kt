package peer

import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO
import io.ktor.client.plugins.HttpTimeout
import io.ktor.client.plugins.sse.SSE
import io.ktor.client.request.HttpRequestBuilder
import io.ktor.client.request.bearerAuth
import io.modelcontextprotocol.kotlin.sdk.client.SseClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StdioClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StreamableHttpClientTransport
import io.modelcontextprotocol.kotlin.sdk.shared.Transport
import io.modelcontextprotocol.kotlin.sdk.shared.TransportSendOptions
import io.modelcontextprotocol.kotlin.sdk.types.JSONRPCMessage
import io.modelcontextprotocol.kotlin.sdk.types.JSONRPCRequest
import io.modelcontextprotocol.kotlin.sdk.types.JSONRPCResponse
import io.modelcontextprotocol.kotlin.sdk.types.McpJson
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import java.util.concurrent.TimeUnit

/** A transport of the SDK that offers one revision: the SDK only ever offers its newest one. */
class Pinned(private val inner: Transport, private val revision: String) : Transport by inner {
    /** The revision of the connection, which the SDK's client does not tell. */
    var negotiated: String? = null
        private set

    override suspend fun send(message: JSONRPCMessage, options: TransportSendOptions?) {
        val isOpening = message is JSONRPCRequest && message.method == "initialize"
        inner.send(if (isOpening && revision != "auto") message.offering(revision) else message, options)
    }

    override fun onMessage(block: suspend (JSONRPCMessage) -> Unit) = inner.onMessage { message ->
        if (negotiated == null && message is JSONRPCResponse) {
            val result = McpJson.encodeToJsonElement(message.result).jsonObject
            negotiated = result["protocolVersion"]?.jsonPrimitive?.content
            (inner as? StreamableHttpClientTransport)?.protocolVersion = negotiated
        }
        block(message)
    }
}

private fun JSONRPCMessage.offering(revision: String): JSONRPCMessage {
    val request = this as JSONRPCRequest
    val params = request.params!!.jsonObject + ("protocolVersion" to JsonPrimitive(revision))
    return request.copy(params = JsonObject(params))
}

/** A transport, and what to do when it is closed. */
class Opened(val transport: Pinned, val close: () -> Unit)

@Suppress("DEPRECATION") // HTTP+SSE itself
fun open(target: List<String>, revision: String, token: String?): Opened {
    if (target[0] == "--stdio") {
        val server = ProcessBuilder(target.drop(1)).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        val input = server.inputStream.asSource().buffered()
        val transport = StdioClientTransport(input, server.outputStream.asSink().buffered())
        return Opened(Pinned(transport, revision)) {
            server.outputStream.close()
            if (!server.waitFor(10, TimeUnit.SECONDS)) server.destroyForcibly()
        }
    }
    val url = target[0]
    val web =
        HttpClient(CIO) {
            install(SSE)
            install(HttpTimeout) { requestTimeoutMillis = 60_000 }
        }
    val withToken: HttpRequestBuilder.() -> Unit = { token?.let { bearerAuth(it) } }
    val transport =
        if (url.endsWith("/sse")) {
            SseClientTransport(web, url, requestBuilder = withToken)
        } else {
            StreamableHttpClientTransport(web, url, requestBuilder = withToken)
        }
    return Opened(Pinned(transport, revision)) { web.close() }
}
