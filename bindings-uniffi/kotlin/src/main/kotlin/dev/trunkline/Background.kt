package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers

private const val MANY_THREADS = 10_000

/** For code of the program that may block: blocked threads are replaced. */
internal val callbacks: CoroutineDispatcher = Dispatchers.IO.limitedParallelism(MANY_THREADS)
