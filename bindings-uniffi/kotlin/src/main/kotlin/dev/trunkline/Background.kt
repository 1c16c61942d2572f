package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.withContext
import kotlin.coroutines.ContinuationInterceptor

private const val MAX_THREADS = 10_000

/** For code of the program that may block: blocked threads are replaced. */
@OptIn(ExperimentalCoroutinesApi::class)
internal val callbacks: CoroutineDispatcher = Dispatchers.IO.limitedParallelism(MAX_THREADS)

/**
 * Waits for what the thread of the port completes. A coroutine without a dispatcher, as in `suspend fun main`, would go
 * on on that thread and may block it.
 */
internal suspend fun <T> awaitPort(wait: suspend () -> T): T {
    val dispatcher = currentCoroutineContext()[ContinuationInterceptor]
    return if (dispatcher == null || dispatcher == Dispatchers.Unconfined) withContext(callbacks) { wait() } else wait()
}
