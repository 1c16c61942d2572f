package dev.trunkline

import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.Runnable
import kotlin.coroutines.CoroutineContext

/**
 * Lets callers take turns on the threads of a dispatcher once these are scarce. The dispatcher gets a task for each block
 * of a coroutine, and each task runs the block of the caller whose turn it is. Callers are only looked up if blocks wait
 * for long.
 */
internal class Turns(private val dispatcher: CoroutineDispatcher, private val callerOf: (Context) -> Any? = Context::caller) :
    CoroutineDispatcher() {
    private class Block(val context: CoroutineContext, val work: Runnable) {
        val call: Context? = context[Context]
        val since: Long = System.nanoTime()

        /** True if its call was cancelled, and the handler will not begin. */
        val isOver: Boolean get() = call?.hasBegun == false && context[Job]?.isCancelled == true
    }

    /** In the order of their arrival. */
    private val arrived = ArrayDeque<Block>()

    /** By caller, in the order of turns. */
    private val sorted = LinkedHashMap<Any?, ArrayDeque<Block>>()
    private var blocks = 0
    private var tasks = 0
    private var added = 0
    private val task = Runnable { next()?.work?.run() }

    override fun isDispatchNeeded(context: CoroutineContext): Boolean = dispatcher.isDispatchNeeded(context)

    override fun dispatch(context: CoroutineContext, block: Runnable): Unit = pass(context, block, dispatcher::dispatch)

    /** By default, what yields comes first again. */
    @InternalCoroutinesApi
    override fun dispatchYield(context: CoroutineContext, block: Runnable): Unit = pass(context, block, dispatcher::dispatchYield)

    private inline fun pass(context: CoroutineContext, block: Runnable, dispatch: (CoroutineContext, Runnable) -> Unit) {
        val given = Block(context, block)
        if (!add(given)) return
        try {
            dispatch(context, task)
        } catch (error: Throwable) {
            // The task of another block may have run this one, and then that one needs a task.
            if (withdraw(given)) throw error
            callbacks.dispatch(context, task)
        }
    }

    override fun toString(): String = dispatcher.toString()

    /** Returns whether to add a task. */
    private fun add(block: Block): Boolean {
        val over = synchronized(this) {
            arrived += block
            blocks++
            if (++added < MIN_PURGE) emptyList() else purge()
        }
        // They end without running code of the program.
        for (one in over) callbacks.dispatch(one.context, one.work)
        return synchronized(this) { (tasks < blocks).also { if (it) tasks++ } }
    }

    /** Removes blocks of cancelled calls. Otherwise a caller could add any number by cancelling those that wait. */
    private fun purge(): List<Block> {
        val over = (sorted.values + listOf(arrived)).flatMap { queue -> queue.filter { it.isOver }.also(queue::removeAll) }
        sorted.values.removeAll { it.isEmpty() }
        blocks -= over.size
        // Each block is looked at a few times at most.
        added = -blocks
        return over
    }

    private fun withdraw(block: Block): Boolean = synchronized(this) {
        val isFound = arrived.remove(block) || sorted.values.any { it.remove(block) }
        if (isFound) {
            sorted.values.removeAll { it.isEmpty() }
            blocks--
            tasks--
        }
        isFound
    }

    private fun next(): Block? = synchronized(this) {
        tasks--
        val next = if (sorted.isEmpty() && !areThreadsScarce()) arrived.removeFirstOrNull() else nextInTurn()
        next?.also { blocks-- }
    }

    private fun areThreadsScarce() = arrived.isNotEmpty() && System.nanoTime() - arrived.first().since > SCARCE_NS

    private fun nextInTurn(): Block? {
        while (arrived.isNotEmpty()) {
            val block = arrived.removeFirst()
            sorted.getOrPut(block.call?.let(callerOf)) { ArrayDeque() } += block
        }
        val (caller, queue) = sorted.entries.firstOrNull() ?: return null
        sorted.remove(caller)
        val block = queue.removeFirst()
        if (queue.isNotEmpty()) sorted[caller] = queue
        return block
    }

    private companion object {
        /** If a block waits longer than this, threads are scarce. */
        const val SCARCE_NS = 50_000_000L

        /** Blocks are purged each time as many as that were added. */
        const val MIN_PURGE = 512
    }
}
