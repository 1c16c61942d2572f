package dev.trunkline

import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import java.io.IOException
import kotlin.time.Duration

/**
 * The endpoint as a handler of the JDK's web server (`com.sun.net.httpserver`). Each request, and each streaming
 * response, occupies a thread of its executor. `stop` of that server truncates responses: once the endpoint has closed,
 * first shut down the executor and await its termination.
 */
public fun HttpEndpoint.toHandler(): HttpHandler = HttpHandler { exchange ->
    Responding.begin(exchange)
    try {
        runBlocking {
            passingOn(exchange.requestBody, lengthOf(exchange)) { body ->
                handle(requestOf(exchange, body)).use { send(it, exchange, writeTimeout) }
            }
        }
        // Not after an error, for which the web server drops the connection: the response must not look complete.
        exchange.close()
    } finally {
        Responding.end(exchange)
    }
}

/** Returns the length of the body, or null if it comes in chunks. */
private fun lengthOf(exchange: HttpExchange): Long? {
    val headers = exchange.requestHeaders
    return if ("transfer-encoding" in headers) null else headers.getFirst("content-length")?.toLongOrNull() ?: 0
}

private fun requestOf(exchange: HttpExchange, body: Flow<ByteArray>): HttpRequest = HttpRequest(
    exchange.requestMethod,
    exchange.requestURI.rawPath,
    exchange.requestHeaders.flatMap { (name, values) -> values.map { name.lowercase() to it } },
    body,
    exchange.requestURI.rawQuery,
    exchange.remoteAddress.address?.hostAddress,
)

private suspend fun send(response: HttpResponse, exchange: HttpExchange, writeTimeout: Duration) {
    val (lengths, others) = response.headers.partition { (name, _) -> name.equals("content-length", ignoreCase = true) }
    for ((name, value) in others) exchange.responseHeaders.add(name, value)
    // Its zero means an unknown length, and -1 no body.
    val isEmpty = response.isEmpty || exchange.requestMethod == "HEAD"
    exchange.sendResponseHeaders(response.status, if (isEmpty) -1 else lengths.firstOrNull()?.second?.toLong() ?: 0)
    try {
        response.body.collect {
            interruptedAfter(writeTimeout) {
                exchange.responseBody.write(it)
                exchange.responseBody.flush()
            }
        }
    } catch (_: IOException) {
        // The client has disconnected.
    }
}

/** Interrupts work that blocks this thread for too long. This closes the connection that it writes to. */
private inline fun interruptedAfter(time: Duration, work: () -> Unit) {
    val interruption = Interruption(Thread.currentThread())
    val timer = watchdog.launch {
        delay(time)
        interruption.begin()
    }
    try {
        work()
    } finally {
        timer.cancel()
        interruption.end()
    }
}

private class Interruption(private val thread: Thread) {
    private var isOver = false
    private var hasBegun = false

    @Synchronized
    fun begin() {
        if (isOver) return
        hasBegun = true
        thread.interrupt()
    }

    /** The executor gets the thread back without this interrupt. */
    @Synchronized
    fun end() {
        isOver = true
        if (hasBegun) Thread.interrupted()
    }
}

private val watchdog = CoroutineScope(Dispatchers.Default)
