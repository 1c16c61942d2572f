import Foundation

extension ContentBlock {
    /// An image block.
    public static func image(_ data: Data, mimeType: String) -> ContentBlock {
        .image(ImageContent(data: data.base64EncodedString(), mimeType: mimeType))
    }

    /// An audio block.
    public static func audio(_ data: Data, mimeType: String) -> ContentBlock {
        .audio(AudioContent(data: data.base64EncodedString(), mimeType: mimeType))
    }

    /// A block that embeds a resource.
    public static func resource(uri: String, text: String, mimeType: String? = nil) -> ContentBlock {
        .resource(EmbeddedResource(resource: .text(TextResourceContents(uri: uri, text: text, mimeType: mimeType))))
    }

    /// A link to a resource.
    public static func link(uri: String, name: String) -> ContentBlock { .resourceLink(ResourceLink(uri: uri, name: name)) }
}

extension CreateMessageResult {
    /// The text blocks, joined by line breaks.
    public var text: String { content.values.compactMap(\.text).joined(separator: "\n") }
}

extension CallToolResult {
    /// The text blocks, joined by line breaks.
    public var text: String { content.compactMap(\.text).joined(separator: "\n") }

    /// The structured content as a structure, or the text as a `String`.
    ///
    /// - Throws: ``ToolError`` if the tool itself has failed, and a ``TrunklineError`` of the kind
    ///   `transport` if the content does not match the type.
    public func decoded<T: Decodable>(as type: T.Type = T.self) throws -> T {
        if isError { throw ToolError(text) }
        // A type without a schema is not wrapped.
        let isWrapped = structuredContent?.object?.names == ["result"] && (try? Schemas.ofResult(type).isWrapped) == true
        let content = isWrapped ? structuredContent?["result"] : structuredContent
        if content == nil || type == String.self && content?.string == nil, let text = text as? T { return text }
        guard let content else {
            throw TrunklineError(.transport, "the result has no structured content: the tool has no output schema")
        }
        return try received(content, isModel: false, "the structured content is not that of \(type)")
    }
}
