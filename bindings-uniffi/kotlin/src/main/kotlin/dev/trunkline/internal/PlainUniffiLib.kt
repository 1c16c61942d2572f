package dev.trunkline.internal

import com.sun.jna.Native
import com.sun.jna.Pointer

/** The functions of `bindings-uniffi/native/plain.rs`. A negative result means that nothing was done. */
@Suppress("ktlint:standard:function-naming")
internal object PlainUniffiLib {
    init {
        Native.register(PlainUniffiLib::class.java, "trunkline_uniffi")
    }

    external fun trunkline_uniffi_plain_port(handle: Long): Pointer?

    external fun trunkline_uniffi_plain_drain(port: Pointer?, max: Int, waitMs: Int, buffer: Pointer, size: Int): Long

    external fun trunkline_uniffi_plain_stand_by(port: Pointer?, graceUs: Int, waitMs: Int): Long

    external fun trunkline_uniffi_plain_complete(port: Pointer?, ticket: Long, shape: Byte, body: ByteArray, size: Int): Long

    external fun trunkline_uniffi_plain_notify(port: Pointer?, target: Long, json: ByteArray, size: Int): Long
}
