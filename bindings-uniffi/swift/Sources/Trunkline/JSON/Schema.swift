import Foundation

/// A type that describes its members in its JSON Schema, for the reader: a model or a user.
public protocol DescribedMembers {
    /// Descriptions by the names of the members in JSON.
    static var descriptions: [String: String] { get }
}

/// A type with a JSON Schema of its own, instead of the one that follows from how it is decoded.
public protocol SchemaProviding {
    static var jsonSchema: JSONObject { get }
}

/// The JSON Schemas of types, as they are decoded.
enum Schemas {
    /// The schema of a type.
    static func of(_ type: any Decodable.Type) throws -> JSONObject {
        var definitions = Definitions()
        var schema = try of(type, &definitions).schema
        if !definitions.members.isEmpty { schema["$defs"] = .object(definitions.members) }
        return schema
    }

    /// The schema of arguments. Others are refused: decoding would ignore one that is misspelled.
    static func ofArguments(_ type: any Decodable.Type) throws -> JSONObject {
        var schema = try of(type)
        if schema["properties"] != nil, !(type is any SchemaProviding.Type) { schema["additionalProperties"] = false }
        return schema
    }

    /// The schema of a result. What is not an object is wrapped in one, as its member `result`, and
    /// so is its schema by the core.
    static func ofResult(_ type: any Decodable.Type) throws -> (schema: JSONObject, isWrapped: Bool) {
        let schema = try of(type)
        return (schema, schema["type"] != "object")
    }

    /// Types that refer to themselves are defined once.
    struct Definitions {
        var members = JSONObject()
        var open: Set<String> = []
        var recursive: Set<String> = []
    }

    /// The schema of a type, and a value of it in JSON if it has no members.
    typealias Described = (schema: JSONObject, sample: JSON?)

    static func of(_ type: any Decodable.Type, _ definitions: inout Definitions) throws -> Described {
        let leaf = try leaf(type, &definitions)
        if let own = type as? any SchemaProviding.Type { return (own.jsonSchema, leaf?.sample) }
        if let leaf { return leaf }
        let name = "\(type)"
        let reference: JSONObject = ["$ref": .string("#/$defs/\(name)")]
        guard definitions.open.insert(name).inserted else {
            definitions.recursive.insert(name)
            return (reference, nil)
        }
        defer { definitions.open.remove(name) }
        let schema = try members(type, &definitions)
        guard definitions.recursive.contains(name) else { return (schema, nil) }
        definitions.members[name] = .object(schema)
        return (definitions.open.count == 1 ? schema : reference, nil)
    }

    /// A type without members; nil for others.
    private static func leaf(_ type: any Decodable.Type, _ definitions: inout Definitions) throws -> Described? {
        switch type {
        case is Bool.Type: return (["type": "boolean"], false)
        case is String.Type: return (["type": "string"], "")
        case let integer as any FixedWidthInteger.Type: return (bounded(integer), 0)
        case is any BinaryFloatingPoint.Type, is Decimal.Type, is Duration.Type: return (["type": "number"], 0)
        case is Date.Type: return (["type": "string", "format": "date-time"], "1970-01-01T00:00:00Z")
        case is URL.Type: return (["type": "string", "format": "uri"], "https://example.com")
        case is UUID.Type: return (["type": "string", "format": "uuid"], "00000000-0000-0000-0000-000000000000")
        case is Data.Type: return (["type": "string", "contentEncoding": "base64"], "")
        case is JSON.Type: return ([:], [:])
        case is JSONObject.Type: return (["type": "object"], [:])
        case let optional as any OptionalType.Type:
            return (["anyOf": [.object(try of(optional.wrapped, &definitions).schema), ["type": "null"]]], JSON.null)
        case let list as any ListType.Type:
            return (["type": "array", "items": .object(try of(list.element, &definitions).schema)], [])
        case let map as any MapType.Type:
            return (["type": "object", "additionalProperties": .object(try of(map.element, &definitions).schema)], [:])
        case let cases as any CaseIterable.Type: return try choice(cases)
        default: return nil
        }
    }

    private static func bounded<T: FixedWidthInteger>(_ type: T.Type) -> JSONObject {
        var schema: JSONObject = ["type": "integer"]
        schema["minimum"] = JSON(exactly: T.min)
        schema["maximum"] = JSON(exactly: T.max)
        return schema
    }

    private static func choice<T: CaseIterable>(_ type: T.Type) throws -> Described? {
        let values: [JSON] = try type.allCases.compactMap { one in
            guard let raw = (one as? any RawRepresentable)?.rawValue as? any Encodable else { return nil }
            return try JSON(encoding: raw)
        }
        guard let first = values.first else { return nil }
        let isText = values.allSatisfy { $0.string != nil }
        return (["type": isText ? "string" : "integer", "enum": .array(values)], first)
    }

    private static func members(_ type: any Decodable.Type, _ definitions: inout Definitions) throws -> JSONObject {
        let recorder = SchemaRecorder(definitions)
        do {
            _ = try ValueDecoder(.recording(recorder)).decode(type)
        } catch {
            let advice = "give the tool an `inputSchema`, or make the type `SchemaProviding` or, if it is an enumeration, `CaseIterable`"
            throw TrunklineError(
                .invalidArgument, "the schema of \(type) does not follow from how it is decoded: \(describe(error)); \(advice)")
        }
        definitions = recorder.definitions
        if let value = recorder.value { return value }
        var properties = recorder.properties
        for (name, text) in (type as? any DescribedMembers.Type)?.descriptions ?? [:] {
            guard case .object(var property) = properties[name] else {
                throw TrunklineError(.invalidArgument, "\(type) describes the member \(name), which it does not decode")
            }
            property["description"] = .string(text)
            properties[name] = .object(property)
        }
        var schema: JSONObject = ["type": "object", "properties": .object(properties)]
        if !recorder.required.isEmpty { schema["required"] = .array(recorder.required.map(JSON.string)) }
        return schema
    }

    /// A value of a type, while the type that contains it is recorded.
    static func value<T: Decodable>(_ type: T.Type, _ sample: JSON?) throws -> T {
        guard let sample else { return try ValueDecoder(.recording(SchemaRecorder(Definitions()))).decode(type) }
        return try ValueDecoder.decode(type, from: sample)
    }
}

/// Records what a type decodes.
final class SchemaRecorder {
    var definitions: Schemas.Definitions
    private(set) var properties = JSONObject()
    private(set) var required: [String] = []

    /// The schema of the value that is decoded instead of members.
    private(set) var value: JSONObject?

    /// The member that the type has looked for, and so does without.
    private var optional: String?

    init(_ definitions: Schemas.Definitions) { self.definitions = definitions }

    func looksFor(_ key: some CodingKey) { optional = key.stringValue }

    /// Records a member, and returns a sample of its type.
    func member(_ type: any Decodable.Type, _ key: some CodingKey, isOptional: Bool = false) throws -> JSON? {
        let name = key.stringValue
        let (schema, sample) = try Schemas.of(type, &definitions)
        if properties[name] == nil {
            properties[name] = .object(schema)
            if !isOptional && optional != name { required.append(name) }
        }
        optional = nil
        return sample
    }

    func value(_ type: any Decodable.Type) throws -> JSON? {
        let (schema, sample) = try Schemas.of(type, &definitions)
        value = schema
        return sample
    }
}

struct Recording<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let codingPath: [any CodingKey]
    let recorder: SchemaRecorder
    let allKeys: [Key] = []

    func contains(_ key: Key) -> Bool {
        recorder.looksFor(key)
        return true
    }

    func decodeNil(forKey key: Key) throws -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try Schemas.value(type, recorder.member(type, key))
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        _ = try recorder.member(type, key, isOptional: true)
        return nil
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        throw unknown(key)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw unknown(key) }
    func superDecoder() throws -> any Decoder { throw unknown(Name("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw unknown(key) }

    private func unknown(_ key: some CodingKey) -> DecodingError {
        let problem = "\(key.stringValue) is decoded by a nested container, which has no type"
        return .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: problem))
    }
}

struct RecordingValue: SingleValueDecodingContainer {
    let codingPath: [any CodingKey]
    let recorder: SchemaRecorder

    func decodeNil() -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try Schemas.value(type, recorder.value(type))
    }
}

protocol OptionalType { static var wrapped: any Decodable.Type { get } }

extension Optional: OptionalType where Wrapped: Decodable { static var wrapped: any Decodable.Type { Wrapped.self } }

protocol ListType { static var element: any Decodable.Type { get } }

extension Array: ListType where Element: Decodable { static var element: any Decodable.Type { Element.self } }

extension Set: ListType where Element: Decodable { static var element: any Decodable.Type { Element.self } }

protocol MapType { static var element: any Decodable.Type { get } }

extension Members: MapType where Value: Decodable { static var element: any Decodable.Type { Value.self } }

extension Dictionary: MapType where Key == String, Value: Decodable { static var element: any Decodable.Type { Value.self } }
