package dev.trunkline

import kotlinx.serialization.json.JsonPrimitive
import java.util.Base64

/** A text block. */
public fun text(text: String): TextContent = TextContent(text)

/** An image block. */
public fun image(data: ByteArray, mimeType: String): ImageContent = ImageContent(base64(data).content, mimeType)

/** An audio block. */
public fun audio(data: ByteArray, mimeType: String): AudioContent = AudioContent(base64(data).content, mimeType)

/** A block that embeds a resource. */
public fun resource(uri: String, text: String, mimeType: String? = null): EmbeddedResource =
    EmbeddedResource(TextResourceContents(uri, text, mimeType))

/** A link to a resource. */
public fun link(uri: String, name: String): ResourceLink = ResourceLink(uri, name)

internal fun base64(data: ByteArray): JsonPrimitive = JsonPrimitive(Base64.getEncoder().encodeToString(data))
