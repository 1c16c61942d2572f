import Foundation

/// The answer of a call, for the core.
struct Answer: Sendable {
    let shape: UInt8
    let body: Data

    /// Called if the core no longer waits for the answer.
    var ifLate: (@Sendable () async -> Void)?

    init(_ shape: UInt8, _ text: String) {
        self.shape = shape
        body = Data(text.utf8)
    }

    init(_ shape: UInt8, _ json: JSON) throws { self.init(shape, try text(json)) }
}

/// Returned by a handler that needs input from its client without waiting for it. Once the
/// responses arrive, the handler is called again, with `inputResponses` and `state` of its
/// ``Context``.
public struct InputRequired: Encodable, Sendable {
    /// Requests by the keys of their responses.
    public var inputRequests: Members<InputRequest>
    /// Any JSON value, which the next run gets back.
    public var state: JSON?

    public init(_ inputRequests: Members<InputRequest>, state: JSON? = nil) {
        self.inputRequests = inputRequests
        self.state = state
    }
}

/// The answer that a returned value stands for.
func answerOf(_ value: Output) throws -> Answer {
    switch value {
    case let text as String: return Answer(Shape.text, text)
    case is Data: throw TrunklineError(.invalidArgument, "only resources return bytes: use `.image` or `.audio` of `ContentBlock`")
    case is InputRequired: return try Answer(Shape.input, JSON(encoding: value))
    case is CallToolResult, is ReadResourceResult, is GetPromptResult: return try Answer(Shape.result, JSON(encoding: value))
    case is any Part: return try Answer(Shape.content, JSON(encoding: value))
    case let list as any ListType where type(of: list).element is any Part.Type:
        return try Answer(Shape.content, JSON(encoding: value))
    default: return try answerOf(written(value, "the result"))
    }
}

/// The same of a resource, whose bytes are a blob.
func contentsOf(_ value: Output) throws -> Answer {
    guard let data = value as? Data else { return try answerOf(value) }
    return try Answer(Shape.content, ["blob": .string(data.base64EncodedString())])
}

/// The same of a prompt, which may be a list of strings.
func messagesOf(_ value: Output) throws -> Answer {
    try value is [String] ? Answer(Shape.content, JSON(encoding: value)) : answerOf(value)
}

func answerOf(_ json: JSON) throws -> Answer { try Answer(json.object == nil ? Shape.value : Shape.object, json) }

/// A part of a result.
protocol Part {}

func completionOf(_ value: Output) throws -> Answer {
    try Answer(value is Completion ? Shape.object : Shape.value, written(value, "the completion"))
}

/// A value that the program has passed, as JSON; `what` names it.
func written(_ value: any Encodable, _ what: String) throws -> JSON {
    do {
        return try JSON(encoding: value)
    } catch let error as EncodingError {
        throw TrunklineError(.invalidArgument, "\(what) cannot be written as JSON: \(describe(error))")
    }
}
