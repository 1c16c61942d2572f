import Foundation

/// Decodes values from JSON, or records the schema that a type decodes.
final class ValueDecoder: Decoder {
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]
    fileprivate let source: Source

    /// Where values are from.
    enum Source {
        /// With `isModel`, absent flags are false and absent lists are empty, as in the protocol.
        case json(JSON, isModel: Bool)
        /// Nowhere: the types are recorded, and the values are samples.
        case recording(SchemaRecorder)
    }

    init(_ source: Source, at path: [any CodingKey] = []) {
        self.source = source
        codingPath = path
    }

    /// Decodes a model of the protocol.
    static func model<T: Decodable>(_ json: JSON, as type: T.Type = T.self) throws -> T {
        try ValueDecoder(.json(json, isModel: true)).decode(type)
    }

    /// The JSON to decode, if any.
    var json: JSON? { if case .json(let json, _) = source { json } else { nil } }

    private static func date(_ text: String?, or error: DecodingError) throws -> Date {
        let styles = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)]
        guard let date = text.flatMap({ text in styles.lazy.compactMap { try? $0.parse(text) }.first }) else { throw error }
        return date
    }

    fileprivate func required<T>(_ value: T?, _ what: String) throws -> T {
        guard let value else { throw mismatch(what) }
        return value
    }

    private func corrupted(_ problem: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: problem))
    }

    func mismatch(_ expected: String) -> DecodingError {
        let found = json.map { "\($0)".prefix(100) } ?? "nothing"
        return corrupted("\(expected) is expected, and not \(found)")
    }

    fileprivate func nested(_ json: JSON, _ key: some CodingKey) -> ValueDecoder {
        guard case .json(_, let isModel) = source else { return self }
        return ValueDecoder(.json(json, isModel: isModel), at: codingPath + [key])
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        switch source {
        case .recording(let recorder): return KeyedDecodingContainer(Recording(codingPath: codingPath, recorder: recorder))
        case .json(let json, _):
            return KeyedDecodingContainer(MemberContainer(decoder: self, object: try required(json.object, "an object")))
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let json else { throw corrupted("it reads a list, whose elements may be of any types") }
        return Elements(decoder: self, elements: try required(json.array, "a list"))
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        if case .recording(let recorder) = source { return RecordingValue(codingPath: codingPath, recorder: recorder) }
        return self
    }
}

extension ValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { json == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try required(json?.bool, "true or false") }
    func decode(_ type: String.Type) throws -> String { try required(json?.string, "a string") }
    func decode(_ type: Double.Type) throws -> Double { try required(json?.number, "a number") }
    func decode(_ type: Float.Type) throws -> Float {
        let value = Float(try decode(Double.self))
        return try required(value.isFinite ? value : nil, "a number of 32 bits")
    }

    func decode<T: Decodable & FixedWidthInteger>(_ type: T.Type) throws -> T {
        switch json {
        case .integer(let value): try required(T(exactly: value), "a whole number of \(T.bitWidth) bits")
        case .unsigned(let value): try required(T(exactly: value), "a whole number of \(T.bitWidth) bits")
        case .number(let value): try required(T(exactly: value), "a whole number of \(T.bitWidth) bits")
        default: throw mismatch("a whole number")
        }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        guard case .json(let json, _) = source else { return try T(from: self) }
        // The types that have another form in Foundation.
        switch type {
        case is JSON.Type: return json as! T
        case is JSONObject.Type: return try required(json.object, "an object") as! T
        case is Date.Type: return try Self.date(json.string, or: mismatch("a date in ISO 8601")) as! T
        case is Data.Type: return try required(json.string.flatMap { Data(base64Encoded: $0) }, "data in Base64") as! T
        case is URL.Type: return try required(json.string.flatMap(URL.init(string:)), "a URL") as! T
        case is Decimal.Type: return try required(json.number.flatMap { _ in Decimal(string: "\(json)") }, "a number") as! T
        // Beyond 10^22, it would end the process.
        case is Duration.Type: return Duration.milliseconds(try required(json.number.flatMap { abs($0) < 1e18 ? $0 : nil }, "a time")) as! T
        default: return try T(from: self)
        }
    }
}

private struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder
    let object: JSONObject
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { object.names.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { object[key.stringValue] == .null }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try decoder.nested(try member(key, type), key).decode(type)
    }

    private func member(_ key: some CodingKey, _ type: (any Decodable.Type)? = nil) throws -> JSON {
        if let member = object[key.stringValue] { return member }
        if case .json(_, true) = decoder.source, let type {
            if type == Bool.self { return .bool(false) }
            if type is any ListType.Type { return .array([]) }
        }
        throw DecodingError.keyNotFound(
            key, DecodingError.Context(codingPath: codingPath, debugDescription: "\(key.stringValue) is missing"))
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try decoder.nested(try member(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.nested(try member(key), key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { decoder.nested(object["super"] ?? .null, Name("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { decoder.nested(try member(key), key) }
}

private struct Elements: UnkeyedDecodingContainer {
    let decoder: ValueDecoder
    let elements: [JSON]
    var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try element().decode(type)
        currentIndex += 1
        return value
    }

    private func element() throws -> ValueDecoder {
        guard !isAtEnd else { throw decoder.mismatch("a longer list") }
        return decoder.nested(elements[currentIndex], Name(currentIndex))
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try superDecoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try superDecoder().unkeyedContainer() }

    mutating func superDecoder() throws -> any Decoder {
        defer { currentIndex += 1 }
        return try element()
    }
}
