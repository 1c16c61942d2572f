package dev.trunkline

import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CopyOnWriteArrayList

/** What a server opens before its first call and closes after its last. */
internal class Lifespan(private val open: (suspend () -> Any?)?) {
    /** What was opened. */
    @Volatile
    var value: Any? = null
        private set

    /** Held while it opens or closes. */
    private val changing = Mutex()
    private val users: MutableSet<OpenHandle> = ConcurrentHashMap.newKeySet()

    /** Not a set: a mount that fails because the server is already mounted only removes its own entry. */
    private val mounted = CopyOnWriteArrayList<Lifespan>()

    /** Those that users of this one have opened, also if they are no longer mounted. */
    private val entered: MutableSet<Lifespan> = ConcurrentHashMap.newKeySet()

    /** Opens that of a mounted server with this one, and now if this one is open. */
    fun mount(other: Lifespan) {
        mounted += other
        if (users.isNotEmpty()) runBlocking(background.coroutineContext) { users.forEach { enterMounted(other, it) } }
    }

    /**
     * The next time this one opens, that of the mounted server stays closed. If it is open, it stays
     * open as long as this one, because calls may still use it.
     */
    fun unmount(other: Lifespan) {
        mounted -= other
    }

    /** Opens it for one more listener or connection. */
    suspend fun enter(user: OpenHandle) {
        changing.withLock {
            if (users.isEmpty()) value = open?.invoke()
            users += user
        }
        for (other in mounted) enterMounted(other, user)
    }

    private suspend fun enterMounted(other: Lifespan, user: OpenHandle) {
        entered += other
        other.enter(user)
        // It may have left meanwhile.
        if (user !in users) other.leave(user)
    }

    /** Closes it if nothing else uses the server. */
    suspend fun leave(user: OpenHandle) {
        changing.withLock {
            if (users.remove(user) && users.isEmpty()) {
                val closing = value as? AutoCloseable
                value = null
                callBack("closing the lifespan") { closing?.close() }
            }
        }
        for (other in entered) other.leave(user)
        if (users.isEmpty()) entered.retainAll(mounted)
    }
}
