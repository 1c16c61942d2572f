import Foundation

/// A type that describes its members in its JSON Schema, for the reader: a model or a user.
public protocol DescribedMembers {
    /// Descriptions by the names of the members in JSON.
    static var descriptions: [String: String] { get }
}

/// A type that provides its own JSON Schema, instead of the one derived from how it is decoded. If
/// a type contains it and its decoder refuses `""` or 0, the schema needs a value that it accepts
/// in `examples`.
public protocol SchemaProviding {
    static var jsonSchema: JSONObject { get }
}

/// The JSON Schemas of types, as they are decoded.
enum Schemas {
    /// The schema of a type.
    static func of(_ type: any Decodable.Type, areArguments: Bool = false) throws -> JSONObject {
        let writer = SchemaWriter(areArguments: areArguments)
        do {
            var schema = try writer.of(type).schema
            if !writer.definitions.isEmpty { schema["$defs"] = .object(writer.definitions) }
            return schema
        } catch let problem as SchemaProblem {
            let text = "the schema of \(type) does not follow from how it is decoded: \(problem.text)"
            throw TrunklineError(.invalidArgument, areArguments ? "\(text), or give the tool an `inputSchema`" : text)
        }
    }

    /// The schema of a result. What is not an object is wrapped in one, as its member `result`, and
    /// so is its schema by the core. Of a tool, it may be given.
    static func ofResult(_ type: any Decodable.Type, _ given: JSONObject? = nil) throws -> (schema: JSONObject, isWrapped: Bool) {
        let schema = try given ?? of(type)
        return (schema, schema["type"] != "object")
    }
}

/// Why a type has no schema, and the path of the member that it is of.
private struct SchemaProblem: Error {
    let type: any Decodable.Type
    let problem: String
    var path = ""

    static func refused(_ type: any Decodable.Type, _ error: any Error) -> SchemaProblem {
        error as? SchemaProblem ?? SchemaProblem(type: type, problem: "its decoder fails on a sample: \(describe(error))")
    }

    var text: String { (path.isEmpty ? "" : "\(path), a \(type): ") + "\(problem); \(advice)" }

    private var advice: String {
        switch type {
        case is any SchemaProviding.Type: "add a value that it accepts to the `examples` of its `jsonSchema`"
        case is any CaseIterable.Type: "give the enumeration raw values, as in `enum \(type): String`"
        case is any RawRepresentable.Type: "make the enumeration `CaseIterable`"
        default: "make the type `SchemaProviding`"
        }
    }
}

/// Writes the schema of a type, and of those that it contains.
private final class SchemaWriter {
    /// The schema of a type, and a value of it, which the decoder of what contains it gets.
    typealias Described = (schema: JSONObject, sample: () throws -> Any)

    /// Arguments refuse members that are not decoded, such as misspelled ones, and optional ones
    /// may be null.
    let areArguments: Bool
    private(set) var definitions = JSONObject()
    private var open: Set<ObjectIdentifier> = []

    /// Types that contain themselves, with the names of their definitions.
    private var recursive: [ObjectIdentifier: String] = [:]

    init(areArguments: Bool) { self.areArguments = areArguments }

    func of(_ type: any Decodable.Type) throws -> Described {
        if let own = type as? any SchemaProviding.Type {
            let schema = own.jsonSchema
            return (schema, { [self] in try example(type, schema) })
        }
        if let (schema, sample) = try leaf(type) { return (schema, { try sample.decoded(as: type) }) }
        let id = ObjectIdentifier(type)
        guard open.insert(id).inserted else {
            let name = recursive[id] ?? unused("\(type)")
            recursive[id] = name
            return (Self.reference(name), { throw SchemaProblem(type: type, problem: "it must contain itself") })
        }
        defer { open.remove(id) }
        let (schema, sample) = try structure(type)
        guard let name = recursive[id] else { return (schema, sample) }
        definitions[name] = .object(schema)
        return (open.count == 1 ? schema : Self.reference(name), sample)
    }

    /// A value of a type with a schema of its own.
    private func example(_ type: any Decodable.Type, _ schema: JSONObject) throws -> Any {
        do {
            let given = schema["examples"]?.array?.first ?? schema["enum"]?.array?.first
            if let json = try given ?? leaf(type)?.sample { return try json.decoded(as: type) }
            return try SchemaWriter(areArguments: false).structure(type).sample()
        } catch {
            throw SchemaProblem.refused(type, error)
        }
    }

    /// A name for a definition, in characters that a reference to it may have.
    private func unused(_ type: String) -> String {
        let name = type.split { !$0.isASCII || !$0.isLetter && !$0.isNumber }.joined(separator: "_")
        return (1...).lazy.map { $0 == 1 ? name : "\(name)\($0)" }.first { !self.recursive.values.contains($0) }!
    }

    private static func reference(_ name: String) -> JSONObject { ["$ref": .string("#/$defs/\(name)")] }

    /// A type without members, and a value of it in JSON; nil for others.
    private func leaf(_ type: any Decodable.Type) throws -> (schema: JSONObject, sample: JSON)? {
        switch type {
        case is Bool.Type: return (["type": "boolean"], false)
        case is String.Type: return (["type": "string"], "")
        case let integer as any FixedWidthInteger.Type: return (Self.bounded(integer), 0)
        case is any BinaryFloatingPoint.Type, is Decimal.Type, is Duration.Type: return (["type": "number"], 0)
        case is Date.Type: return (["type": "string", "format": "date-time"], "1970-01-01T00:00:00Z")
        case is URL.Type: return (["type": "string", "format": "uri"], "https://example.com")
        case is UUID.Type: return (["type": "string", "format": "uuid"], "00000000-0000-0000-0000-000000000000")
        case is Data.Type: return (["type": "string", "contentEncoding": "base64"], "")
        case is JSON.Type: return ([:], [:])
        case is JSONObject.Type: return (["type": "object"], [:])
        case let optional as any OptionalType.Type: return (Self.nullable(try of(optional.wrapped).schema), .null)
        case let list as any ListType.Type: return (["type": "array", "items": .object(try of(list.element).schema)], [])
        case let map as any MapType.Type:
            return try map.element.map { (["type": "object", "additionalProperties": .object(try of($0).schema)], [:]) }
        case let cases as any CaseIterable.Type: return try Self.choice(cases)
        default: return nil
        }
    }

    static func nullable(_ schema: JSONObject) -> JSONObject { ["anyOf": [.object(schema), ["type": "null"]]] }

    /// Bounds beyond 53 bits are not exact for readers of JSON, and some APIs of models refuse
    /// them.
    private static func bounded<T: FixedWidthInteger>(_ type: T.Type) -> JSONObject {
        var schema: JSONObject = ["type": "integer"]
        if T.bitWidth < 64 || !T.isSigned { schema["minimum"] = JSON(exactly: T.min) }
        if T.bitWidth < 64 { schema["maximum"] = JSON(exactly: T.max) }
        return schema
    }

    private static func choice<T: CaseIterable>(_ type: T.Type) throws -> (schema: JSONObject, sample: JSON)? {
        let values: [JSON] = try type.allCases.compactMap { one in
            guard let raw = (one as? any RawRepresentable)?.rawValue as? any Encodable else { return nil }
            return try JSON(encoding: raw)
        }
        guard let first = values.first else { return nil }
        let isText = values.allSatisfy { $0.string != nil }
        return (["type": isText ? "string" : "integer", "enum": .array(values)], first)
    }

    private func structure(_ type: any Decodable.Type) throws -> Described {
        let recorder = SchemaRecorder(self)
        let decoded = Result { try ValueDecoder(.recording(recorder)).decode(type) as Any }
        if recorder.readsAllKeys {
            let problem = "its decoder asks which members there are (`allKeys`), as that of an enumeration with associated values does"
            throw SchemaProblem(type: type, problem: problem)
        }
        if case .failure(let error) = decoded { throw SchemaProblem.refused(type, error) }
        if let value = recorder.value { return (value, decoded.get) }
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
        if areArguments { schema["additionalProperties"] = false }
        return (schema, decoded.get)
    }
}

/// Records what a type decodes.
final class SchemaRecorder {
    private let writer: SchemaWriter
    private(set) var properties = JSONObject()
    private(set) var required: [String] = []
    var readsAllKeys = false

    /// The schema of the value that is decoded instead of members.
    private(set) var value: JSONObject?

    /// The member that the type has looked for, and so does without, and the one that it has
    /// compared with null.
    var optional: String?
    var nullable: String?

    fileprivate init(_ writer: SchemaWriter) { self.writer = writer }

    /// Records a member, and returns a sample of its type unless it is optional.
    func member<T: Decodable>(_ type: T.Type, _ key: some CodingKey, isOptional: Bool = false) throws -> T? {
        let name = key.stringValue
        do {
            let (schema, sample) = try writer.of(type)
            if properties[name] == nil {
                let isNullable = (isOptional || nullable == name) && writer.areArguments && !(type is any OptionalType.Type)
                properties[name] = .object(isNullable ? SchemaWriter.nullable(schema) : schema)
                if !isOptional && optional != name { required.append(name) }
            }
            (optional, nullable) = (nil, nil)
            return isOptional ? nil : try sample() as? T
        } catch var problem as SchemaProblem {
            problem.path = "/\(name)\(problem.path)"
            throw problem
        }
    }

    func value<T: Decodable>(_ type: T.Type) throws -> T? {
        let (schema, sample) = try writer.of(type)
        value = schema
        return try sample() as? T
    }
}

struct Recording<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let codingPath: [any CodingKey]
    let recorder: SchemaRecorder

    var allKeys: [Key] {
        recorder.readsAllKeys = true
        return []
    }

    func contains(_ key: Key) -> Bool {
        recorder.optional = key.stringValue
        return true
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        recorder.nullable = key.stringValue
        return false
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try recorder.member(type, key)! }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try recorder.member(type, key, isOptional: true)
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
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try recorder.value(type)! }
}

protocol OptionalType { static var wrapped: any Decodable.Type { get } }

extension Optional: OptionalType where Wrapped: Decodable { static var wrapped: any Decodable.Type { Wrapped.self } }

protocol ListType { static var element: any Decodable.Type { get } }

extension Array: ListType where Element: Decodable { static var element: any Decodable.Type { Element.self } }

extension Set: ListType where Element: Decodable { static var element: any Decodable.Type { Element.self } }

/// A type whose members have any names; without an element if it is not decoded so.
protocol MapType { static var element: (any Decodable.Type)? { get } }

extension Members: MapType where Value: Decodable { static var element: (any Decodable.Type)? { Value.self } }

extension Dictionary: MapType where Value: Decodable {
    /// Keys of other types are elements of a list, next to their values.
    static var element: (any Decodable.Type)? { Key.self is any CodingKeyRepresentable.Type ? Value.self : nil }
}
