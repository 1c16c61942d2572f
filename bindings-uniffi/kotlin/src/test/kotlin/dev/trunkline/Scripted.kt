package dev.trunkline

import kotlinx.coroutines.channels.Channel
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.jsonObject
import java.nio.file.Path
import kotlin.io.path.readText

/** A table of `tests`. */
internal fun table(name: String): JsonElement = Json.parseToJsonElement(Path.of("../../tests", name).readText())

/** A server that answers `initialize`, and other methods with texts. */
internal class Scripted(private val results: Map<String, String>) : Transport {
    private val hello =
        """{"protocolVersion": "2025-11-25", "serverInfo": {"name": "odd", "version": "1"},
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}}"""
    private val answers = Channel<String>(Channel.UNLIMITED)

    override suspend fun connect() = Unit

    override suspend fun send(message: String) {
        val request = Json.parseToJsonElement(message).jsonObject
        val id = request["id"] ?: return
        val result = results[request.string("method")] ?: hello
        answers.send("""{"jsonrpc": "2.0", "id": $id, "result": $result}""".replace("\n", " "))
    }

    override suspend fun receive(): String = answers.receive()

    override suspend fun close() = Unit
}
