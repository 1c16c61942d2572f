package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob

private const val THREADS = 16
private const val MANY_THREADS = 10_000

/** For opening and closing. Its threads are its own: handlers may block all those that they run on. */
internal val background = CoroutineScope(SupervisorJob() + Dispatchers.IO.limitedParallelism(THREADS))

/** For code of the program that may block: blocked threads are replaced. */
internal val callbacks: CoroutineDispatcher = Dispatchers.IO.limitedParallelism(MANY_THREADS)
