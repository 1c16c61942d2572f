package dev.trunkline

import com.sun.jna.Memory
import dev.trunkline.internal.Event
import dev.trunkline.internal.FfiConverterSequenceTypeEvent
import dev.trunkline.internal.OptionNames
import dev.trunkline.internal.PlainUniffiLib
import dev.trunkline.internal.PortInterface
import dev.trunkline.internal.Port as UniffiPort

/**
 * The functions of the core. Those that every call needs do without the structs of uniffi, which JNA allocates and
 * enters in a table for each call, and leave to uniffi what they cannot do.
 */
internal class NativePort private constructor(private val port: UniffiPort) : PortInterface by port {
    /** There is no bell: a thread waits in [drain]. */
    constructor() : this(UniffiPort.withoutBell(OptionNames.CAMEL))

    private val plain = PlainUniffiLib.trunkline_uniffi_plain_port(port.uniffiCloneHandle())

    /** For an event. Larger ones have a buffer of their own. */
    private val buffer = Memory(BUFFER_SIZE.toLong())
    private val events = buffer.getByteBuffer(0, BUFFER_SIZE.toLong())

    /** For one thread at a time. */
    override fun drain(max: UInt, waitMs: UInt): List<Event> {
        val length = PlainUniffiLib.trunkline_uniffi_plain_drain(plain, max.toInt(), waitMs.toInt(), buffer, BUFFER_SIZE)
        // A duplicate begins at 0, and its numbers are big-endian.
        return if (length < 0) port.drain(max, waitMs) else FfiConverterSequenceTypeEvent.read(events.duplicate())
    }

    /** Waits until an event has been pending for a while, but nobody drains it, or the port has ended. */
    fun standBy(graceUs: Int, waitMs: Int) {
        PlainUniffiLib.trunkline_uniffi_plain_stand_by(plain, graceUs, waitMs)
    }

    override fun complete(ticket: ULong, shape: UByte, body: ByteArray): Boolean {
        // JNA copies an array back after the call, and the library takes over the buffers of uniffi.
        if (body.size > BUFFER_SIZE) return port.complete(ticket, shape, body)
        val done = PlainUniffiLib.trunkline_uniffi_plain_complete(plain, ticket.toLong(), shape.toByte(), body, body.size)
        return if (done < 0) port.complete(ticket, shape, body) else done == 1L
    }

    override fun notify(target: ULong, json: String) {
        val bytes = json.encodeToByteArray()
        if (PlainUniffiLib.trunkline_uniffi_plain_notify(plain, target.toLong(), bytes, bytes.size) < 0) port.notify(target, json)
    }

    fun destroy(): Unit = port.destroy()

    private companion object {
        const val BUFFER_SIZE = 65_536
    }
}
