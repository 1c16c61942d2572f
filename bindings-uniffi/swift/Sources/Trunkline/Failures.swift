import Foundation
import TrunklineNative

/// An error of this library. Its kind is the same in every language. Thrown by a handler, one of
/// the kind `protocol` is the JSON-RPC error that the caller receives.
@dynamicMemberLookup
public struct TrunklineError: Error, Sendable {
    public let kind: ErrorKind
    public let message: String

    /// The JSON-RPC code of an error of the kind `protocol`.
    public var code: Int?

    /// The data of an error of the kind `protocol`.
    public var data: JSON?

    /// More facts, such as `exitCode` and `stderr` of a server process; also as properties of the
    /// error itself.
    public var facts = ErrorFacts()

    public init(_ kind: ErrorKind, _ message: String, code: Int? = nil, data: JSON? = nil) {
        self.kind = kind
        self.message = message
        self.code = code
        self.data = data
    }

    public subscript<T>(dynamicMember member: KeyPath<ErrorFacts, T>) -> T { facts[keyPath: member] }
}

extension TrunklineError: LocalizedError, CustomStringConvertible {
    public var errorDescription: String? { message }
    public var description: String { "\(kind.rawValue): \(message)" }
}

extension TrunklineError: Codable {
    public init(from decoder: any Decoder) throws {
        let json = try JSON(from: decoder)
        self.init(
            json["kind"]?.string.flatMap(ErrorKind.init(rawValue:)) ?? .internal, json["message"]?.string ?? "\(json)",
            code: json["code"]?.integer, data: json["data"])
        if let data, kind != .protocol, let facts: ErrorFacts = try? ValueDecoder.model(data) { self.facts = facts }
    }

    public func encode(to encoder: any Encoder) throws {
        try parameters([("kind", kind), ("message", message), ("code", code), ("data", data)]).encode(to: encoder)
    }
}

/// Thrown by a tool handler to give the caller a result with `isError` and this message.
public struct ToolError: LocalizedError, Sendable {
    public let message: String
    public var errorDescription: String? { message }

    public init(_ message: String) { self.message = message }
}

/// Thrown by a ``Store``. Any other error of a store means that it is unavailable.
public struct StoreError: LocalizedError, Sendable {
    /// Why a store has failed.
    public enum Reason: String, Sendable {
        /// The store cannot be reached.
        case unavailable
        /// The store has no space.
        case full
        /// The store contains unreadable data.
        case corrupt
    }

    public let reason: Reason
    public let message: String
    public var errorDescription: String? { message }

    public init(_ reason: Reason = .unavailable, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

/// Thrown by a verifier to refuse a token with a message for the client.
public struct TokenError: LocalizedError, Sendable {
    public let message: String
    /// The scopes that the token lacks, if any.
    public let scopes: [String]?
    public var errorDescription: String? { message }

    public init(_ message: String, scopes: [String]? = nil) {
        self.message = message
        self.scopes = scopes
    }
}

/// Ends a handler whose request to its client is answered in another run of the handler. Code that
/// catches errors of the library lets it pass.
struct Suspended: Error {
    let message: String
}

/// Arguments that the schema allows and the type of the handler does not.
struct InvalidArguments: Error {
    let cause: any Error
}

/// The error for an error object of the core.
func errorOf(_ body: Data) -> any Error {
    guard let json = try? JSONParser.parse(body), json["kind"] != nil, let error = try? json.decoded(as: TrunklineError.self)
    else { return TrunklineError(.internal, String(decoding: body, as: UTF8.self)) }
    return json["kind"] == "suspended" ? Suspended(message: error.message) : error
}

/// Converts JSON from a peer to a model or to a type of the program.
func received<T: Decodable>(_ json: JSON, isModel: Bool = true, _ problem: String = "invalid response") throws -> T {
    do {
        return try ValueDecoder(.json(json, isModel: isModel)).decode(T.self)
    } catch let error as DecodingError {
        throw TrunklineError(.transport, "\(problem): \(describe(error))")
    }
}

/// Runs a function of the native library, and throws its errors as those of this package.
func native<T>(_ function: () throws -> T) throws -> T {
    do {
        return try function()
    } catch PortError.Failed(_, let json) {
        throw errorOf(Data(json.utf8))
    }
}

/// The message for the core about what a handler has thrown.
func failureOf(_ error: any Error) -> JSONObject {
    switch error {
    case let error as ToolError: return failure("tool", error.message)
    case let error as StoreError: return failure("protocol", error.message, data: ["error": .string(error.reason.rawValue)])
    case let error as InvalidArguments: return failure("invalid", describe(error.cause), path: "")
    case let error as TokenError:
        guard let scopes = error.scopes else { return failure("invalid", error.message, path: "") }
        return failure("protocol", error.message, data: ["error": "insufficient_scope", "scopes": .array(scopes.map(JSON.string))])
    case let error as TrunklineError where error.kind == .protocol:
        return failure("protocol", error.message, data: error.data, code: error.code)
    case let error as Suspended: return failure("internal", error.message)
    default: return failure("internal", describe(error))
    }
}

func failure(_ kind: String, _ message: String, data: JSON? = nil, code: Int? = nil, path: JSON? = nil) -> JSONObject {
    var failure: JSONObject = ["kind": .string(kind), "message": .string(message)]
    failure["data"] = data
    failure["code"] = code.map(JSON.integer)
    failure["path"] = path
    return failure
}

/// An error for the log, or for the caller.
func describe(_ error: any Error) -> String {
    func placed(_ problem: String, _ path: [any CodingKey]) -> String {
        let path = path.map { "/\($0.stringValue)" }.joined()
        return path.isEmpty ? problem : "\(path): \(problem)"
    }
    let text =
        switch error {
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
            placed(context.debugDescription, context.codingPath)
        case EncodingError.invalidValue(_, let context): placed(context.debugDescription, context.codingPath)
        // Foundation makes the errors above such ones, too, without their paths.
        case let error as any LocalizedError: error.errorDescription ?? "\(error)"
        default: "\(error)"
        }
    return String(text.prefix(16_384))
}

/// The error of a union that has no variant for an object.
func unmatched(_ type: String, _ json: JSON, _ decoder: any Decoder) -> DecodingError {
    let problem = "this is not a \(type): \(String("\(json)".prefix(100)))"
    return .dataCorrupted(DecodingError.Context(codingPath: decoder.codingPath, debugDescription: problem))
}
