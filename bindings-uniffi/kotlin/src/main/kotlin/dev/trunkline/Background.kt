package dev.trunkline

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob

private const val THREADS = 16

/** For opening and closing. Its threads are its own: handlers may block all those that they run on. */
internal val background = CoroutineScope(SupervisorJob() + Dispatchers.IO.limitedParallelism(THREADS))
