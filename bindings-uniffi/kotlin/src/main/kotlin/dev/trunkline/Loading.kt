package dev.trunkline

import com.sun.jna.Platform

/** The native library could not be loaded. The message says why, and what to do. */
public class LibraryLoadException(message: String, cause: Throwable? = null) : RuntimeException(message, cause)

/** The first failure: later attempts of the JVM only say that a class could not be initialized. */
@Volatile
private var failure: LibraryLoadException? = null

/** Runs what loads the native library. */
internal fun <T> loaded(load: () -> T): T {
    failure?.let { throw LibraryLoadException(it.message.orEmpty(), it.cause) }
    try {
        return load()
    } catch (error: LinkageError) {
        throw LibraryLoadException(explanation(error), error).also { failure = it }
    }
}

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
