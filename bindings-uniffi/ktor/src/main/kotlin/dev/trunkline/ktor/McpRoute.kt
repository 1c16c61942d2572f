package dev.trunkline.ktor

import dev.trunkline.AuthOptions
import dev.trunkline.HttpEndpoint
import dev.trunkline.HttpOptions
import dev.trunkline.HttpRequest
import dev.trunkline.HttpResponse
import dev.trunkline.Server
import dev.trunkline.TokenVerifier
import io.ktor.http.ContentType
import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.http.content.ChannelWriterContent
import io.ktor.server.application.ApplicationCall
import io.ktor.server.application.ApplicationStopPreparing
import io.ktor.server.application.ApplicationStopped
import io.ktor.server.application.MissingApplicationPluginException
import io.ktor.server.application.createRouteScopedPlugin
import io.ktor.server.application.hooks.CallSetup
import io.ktor.server.application.install
import io.ktor.server.application.plugin
import io.ktor.server.http.HttpRequestCloseHandlerKey
import io.ktor.server.http.content.HttpStatusCodeContent
import io.ktor.server.request.httpMethod
import io.ktor.server.request.httpVersion
import io.ktor.server.request.receiveChannel
import io.ktor.server.request.uri
import io.ktor.server.response.respond
import io.ktor.server.routing.Route
import io.ktor.server.routing.RoutingPipelineCall
import io.ktor.server.routing.application
import io.ktor.server.routing.route
import io.ktor.utils.io.ByteReadChannel
import io.ktor.utils.io.ByteWriteChannel
import io.ktor.utils.io.InternalAPI
import io.ktor.utils.io.readAvailable
import io.ktor.utils.io.writeFully
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.emptyFlow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking

/**
 * Serves MCP at this route and below it. Takes the options of [Server.listen] except those of a socket. The endpoint
 * closes with the application.
 *
 * ```
 * routing {
 *     route("/mcp") { mcp(weather) }
 * }
 * ```
 *
 * A client that disconnects is noticed at once under Netty and CIO, and at the next write under other engines and
 * under CIO after `Connection: close`: on streams, within `keepAlive` of the server. One that reads nothing is noticed
 * after `writeTimeout`.
 *
 * @throws dev.trunkline.InvalidArgumentException if an option is invalid.
 */
public fun Route.mcp(
    server: Server,
    auth: AuthOptions? = null,
    verifier: TokenVerifier? = null,
    options: HttpOptions.() -> Unit = {},
): HttpEndpoint = server.endpoint(auth, verifier, options).also { mcp(it) }

/** Serves an endpoint at this route and below it. It closes with the application. */
public fun Route.mcp(endpoint: HttpEndpoint) {
    application.monitor.subscribe(ApplicationStopPreparing) { runBlocking { endpoint.close() } }
    // A late request may have opened it again, and CIO without a grace period skips the event above.
    application.monitor.subscribe(ApplicationStopped) { runBlocking { endpoint.close() } }
    route("{...}") {
        try {
            plugin(Disconnection)
        } catch (_: MissingApplicationPluginException) {
            install(Disconnection)
        }
        handle { endpoint.handle(requestOf(call)).use { respond(call, it) } }
    }
}

/**
 * Cancels a request whose client has disconnected, as the plugin `HttpRequestLifecycle` does. But CIO also reports the
 * end of a connection once it has read the last request of it, which often says `Connection: close`. Its client still
 * waits.
 */
@OptIn(InternalAPI::class)
private val Disconnection = createRouteScopedPlugin("McpDisconnection") {
    on(CallSetup) { call ->
        val engineCall = (call as? RoutingPipelineCall)?.engineCall ?: call
        val isUnknown = isLast(call) && engineCall.javaClass.name.startsWith(CIO_PACKAGE)
        call.attributes.put(HttpRequestCloseHandlerKey) { if (!isUnknown) call.coroutineContext.cancel() }
    }
}

/** Returns whether the connection ends with the response. */
private fun isLast(call: ApplicationCall): Boolean {
    val connection = call.request.headers[HttpHeaders.Connection].orEmpty().lowercase()
    return "close" in connection || (call.request.httpVersion == "HTTP/1.0" && "keep-alive" !in connection)
}

private suspend fun requestOf(call: ApplicationCall): HttpRequest {
    val request = call.request
    val uri = request.uri
    return HttpRequest(
        request.httpMethod.value,
        uri.substringBefore('?'),
        request.headers.entries().flatMap { (name, values) -> values.map { name.lowercase() to it } } + hostOf(call),
        if (hasBody(call)) call.receiveChannel().chunks() else emptyFlow(),
        if ('?' in uri) uri.substringAfter('?') else null,
        request.local.remoteAddress,
    )
}

private fun isHttp1(call: ApplicationCall) = call.request.httpVersion.startsWith("HTTP/1")

/** In HTTP/2, the host is no header. */
private fun hostOf(call: ApplicationCall): List<Pair<String, String>> {
    val local = call.request.local
    val isMissing = !isHttp1(call) && HttpHeaders.Host !in call.request.headers
    return if (isMissing) listOf("host" to "${local.serverHost}:${local.serverPort}") else emptyList()
}

/** In HTTP/1, a body has a header. Without one, the channel stays open after an offer to upgrade, and in HTTP/2. */
private fun hasBody(call: ApplicationCall): Boolean {
    val headers = call.request.headers
    return (!isHttp1(call) && call.request.httpMethod.value == "POST") ||
        HttpHeaders.TransferEncoding in headers ||
        (headers[HttpHeaders.ContentLength] ?: "0") != "0"
}

private fun ByteReadChannel.chunks(): Flow<ByteArray> = flow {
    val buffer = ByteArray(CHUNK_BYTES)
    while (true) {
        val read = readAvailable(buffer)
        if (read < 0) break
        if (read > 0) emit(buffer.copyOf(read))
    }
}

private suspend fun respond(call: ApplicationCall, response: HttpResponse) {
    // A plugin, such as that for CORS, may have set it. It has one value.
    val others = listOf(HttpHeaders.AccessControlAllowOrigin).filter { it in call.response.headers }
    // HTTP/2 forbids it.
    val own = OWN_HEADERS + others + if (isHttp1(call)) emptyList() else listOf(HttpHeaders.Connection)
    for ((name, value) in response.headers) {
        if (own.none { it.equals(name, ignoreCase = true) }) call.response.headers.append(name, value, safeOnly = false)
    }
    val status = HttpStatusCode.fromValue(response.status)
    if (response.isEmpty) return call.respond(HttpStatusCodeContent(status))
    val type = response.header(HttpHeaders.ContentType)?.let(ContentType::parse)
    val length = response.header(HttpHeaders.ContentLength)?.toLong()
    val write: suspend ByteWriteChannel.() -> Unit = {
        response.body.collect {
            writeFully(it)
            flush()
        }
    }
    call.respond(ChannelWriterContent(write, type, status, length))
}

private fun HttpResponse.header(name: String) = headers.firstOrNull { it.first.equals(name, ignoreCase = true) }?.second

/** Headers that are parameters of a response. */
private val OWN_HEADERS = listOf(HttpHeaders.ContentType, HttpHeaders.ContentLength)

/** The package of the engine. */
private const val CIO_PACKAGE = "io.ktor.server.cio."

private const val CHUNK_BYTES = 65_536
