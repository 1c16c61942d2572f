package dev.trunkline

import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.Dispatchers

/** The library as a whole. */
public object Trunkline {
    /**
     * Ends the library, so that its class loader can be freed, for example when a container stops an application that is
     * deployed again later. Close servers and clients before: what is still open ends at once. No other thread may use
     * the library meanwhile.
     *
     * Afterwards, the library cannot be used any more, unless another class loader loads it. If kotlinx.coroutines has
     * the same class loader, its threads end as well.
     */
    @OptIn(DelicateCoroutinesApi::class)
    public fun shutdown() {
        if (!shutDownPort()) return
        shutDownLog()
        if (isOfLibrary(Dispatchers::class.java)) Dispatchers.shutdown()
        // Otherwise, it waits for objects that are only freed with the class loader.
        Thread.getAllStackTraces().keys.filter { it.name == "JNA Cleaner" && isOfLibrary(it.javaClass) }.forEach(Thread::interrupt)
    }

    private fun isOfLibrary(type: Class<*>) = type.classLoader === javaClass.classLoader
}
