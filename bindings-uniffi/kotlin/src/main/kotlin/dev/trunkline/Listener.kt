package dev.trunkline

import kotlin.time.Duration

/** A server that is listening. */
public class Listener internal constructor(
    private val handle: OpenHandle,
    /** The URL of the endpoint; empty on descriptors. */
    public val url: String,
    /** The address; empty on a Unix socket and on descriptors. */
    public val host: String,
    /** The port; 0 on a Unix socket and on descriptors. */
    public val port: Int,
) {
    /**
     * Stops listening. Calls in flight get [deadline] (by default, all but the last fifth of the server's
     * `drainDeadline`) and are then cancelled.
     */
    public suspend fun close(deadline: Duration? = null): Unit = handle.close(deadline)

    /** Waits until it has closed. */
    public suspend fun join() {
        handle.join()
    }

    /**
     * Serves in the foreground, until it has closed. SIGINT and SIGTERM close it; calls in flight may complete within
     * `drainDeadline` of the server. A second signal ends the process at once.
     */
    public suspend fun run(): Unit = endedBySignals({ handle.close() }) { serve() }

    /** Serves in the foreground, without handling signals. */
    internal suspend fun serve() {
        Port.notify(handle.handle, objectOf("foreground" to true))
        handle.join()
    }
}
