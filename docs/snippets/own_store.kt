// A custom store: maps here, a database in production.
package ownstore

import dev.trunkline.Store
import dev.trunkline.StoredEntry
import dev.trunkline.checkStore
import dev.trunkline.server
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlin.time.Duration
import kotlin.time.TimeMark
import kotlin.time.TimeSource

class MapStore : Store {
    private class Kept<T>(val value: T, val ends: TimeMark)

    private val texts = mutableMapOf<String, Kept<String>>()
    private val logs = mutableMapOf<String, Kept<List<StoredEntry>>>()
    private var position = 0L
    private val lock = Mutex()

    override suspend fun get(key: String): String? = lock.withLock { fresh(texts, key) }

    override suspend fun put(key: String, text: String, keepFor: Duration) = lock.withLock { texts[key] = keep(text, keepFor) }

    // With a database, use a transaction.
    override suspend fun putIf(key: String, expected: String?, text: String, keepFor: Duration): Boolean = lock.withLock {
        val isAsExpected = fresh(texts, key) == expected
        if (isAsExpected) texts[key] = keep(text, keepFor)
        isAsExpected
    }

    override suspend fun remove(key: String): Unit = lock.withLock {
        texts.remove(key)
        logs.remove(key)
    }

    override suspend fun append(log: String, entry: String, maxEntries: Long, keepFor: Duration): Long = lock.withLock {
        val entries = fresh(logs, log).orEmpty() + StoredEntry(++position, entry)
        logs[log] = keep(entries.takeLast(maxEntries.toInt()), keepFor)
        position
    }

    // A read need not wait for entries.
    override suspend fun read(log: String, after: Long, limit: Long, wait: Duration): List<StoredEntry> = lock.withLock {
        fresh(logs, log).orEmpty().filter { it.position > after }.take(limit.toInt())
    }

    private fun <T> keep(value: T, keepFor: Duration) = Kept(value, TimeSource.Monotonic.markNow() + keepFor)

    private fun <T> fresh(table: Map<String, Kept<T>>, key: String): T? = table[key]?.takeIf { it.ends.hasNotPassedNow() }?.value
}

suspend fun main() {
    val reports = server("reports", "1.0.0", store = MapStore())

    val findings = checkStore(MapStore())
    println(if (findings.isEmpty()) "The store keeps its contract." else findings.joinToString("\n"))
    reports.close()
}
