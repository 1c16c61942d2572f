package dev.trunkline

import com.sun.jna.Platform
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** The native library could not be loaded. The message says why, and what to do. */
public class LibraryLoadException(message: String, cause: Throwable? = null) : RuntimeException(message, cause)

/** The first failure: later attempts of the JVM only say that a class could not be initialized. */
@Volatile
private var failure: LibraryLoadException? = null

/** Runs what loads the native library. */
internal fun <T> loaded(load: () -> T): T {
    failure?.let { throw LibraryLoadException(it.message.orEmpty(), it.cause) }
    try {
        checkComplete()
        return load()
    } catch (error: LinkageError) {
        throw LibraryLoadException(explanation(error), error).also { failure = it }
    }
}

/**
 * Refuses a file that was cut short, which the loader finds out by a bus error. JNA extracts the library of the
 * artifact, which is whole.
 */
private fun checkComplete() {
    for (folder in System.getProperty("jna.library.path").orEmpty().split(File.pathSeparator).filter(String::isNotEmpty)) {
        val file = File(folder, System.mapLibraryName("trunkline_uniffi"))
        val end = endOfSections(file)
        if (end != null && file.length() < end) {
            throw UnsatisfiedLinkError("$file is incomplete (${file.length()} of at least $end bytes)")
        }
    }
}

/** Where the sections of an ELF file with 64 bits end, which is at its end. */
private fun endOfSections(file: File): Long? {
    // The loader says why a file cannot be read.
    val bytes = runCatching { file.inputStream().use { it.readNBytes(ELF_HEADER_BYTES) } }.getOrNull() ?: return null
    val head = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    if (bytes.size < ELF_HEADER_BYTES || head.getInt(0) != ELF_MAGIC || head.getShort(4) != ELF_64_LITTLE_ENDIAN) return null
    return head.getLong(40) + head.getShort(58).toLong() * head.getShort(60)
}

private const val ELF_HEADER_BYTES = 64
private const val ELF_MAGIC = 0x464C457F
private const val ELF_64_LITTLE_ENDIAN: Short = 0x0102

private fun explanation(error: LinkageError): String {
    val platform = runCatching { Platform.RESOURCE_PREFIX }.getOrDefault(System.getProperty("os.name"))
    val reason = messageOf(error.cause ?: error).lineSequence().first()
    val advice =
        if (platform in PLATFORMS) {
            "If the folder for temporary files is read-only or forbids execution, name another one with " +
                "-Djna.tmpdir=FOLDER, because the library is extracted there. On Linux, it needs glibc"
        } else {
            "The published artifact has it for ${PLATFORMS.joinToString()}; on Linux, it needs glibc. " +
                "If you have built it, name its folder with -Djna.library.path=FOLDER"
        }
    return "the native library of Trunkline could not be loaded on $platform: $reason. $advice"
}

/** JNA's names of the platforms whose libraries the published artifact has. */
private val PLATFORMS = listOf("linux-x86-64", "linux-aarch64", "darwin-x86-64", "darwin-aarch64", "win32-x86-64")
