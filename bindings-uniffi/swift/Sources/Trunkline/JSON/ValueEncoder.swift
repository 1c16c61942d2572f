import Foundation

/// Encodes values as JSON, whose members keep the order in which they are encoded. Dates are
/// ISO 8601 strings, in milliseconds if they have fractions of a second, data is Base64, and
/// durations are whole milliseconds, rounded up.
final class ValueEncoder: Encoder {
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private var value: JSON?
    private var isList = false

    /// The elements or members of what is not a single value. The last key of its path names a
    /// member.
    fileprivate private(set) var parts: [ValueEncoder] = []

    static func encode(_ value: some Encodable) throws -> JSON {
        let encoder = ValueEncoder([])
        try encoder.encode(value)
        return encoder.json
    }

    private init(_ codingPath: [any CodingKey]) { self.codingPath = codingPath }

    private var json: JSON {
        if let value { return value }
        if isList { return .array(parts.map(\.json)) }
        return .object(JSONObject(parts.map { ($0.codingPath.last!.stringValue, $0.json) }))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(MemberContainer(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        isList = true
        return Elements(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Adds a part that is still to be encoded.
    fileprivate func part(_ key: some CodingKey) -> ValueEncoder {
        let part = ValueEncoder(codingPath + [key])
        parts.append(part)
        return part
    }

    fileprivate func add(_ value: some Encodable, _ key: some CodingKey) throws {
        let part = ValueEncoder(codingPath + [key])
        try part.encode(value)
        parts.append(part)
    }

    private func unwritable(_ value: Any) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no \(value)"))
    }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { value = .null }
    func encode(_ value: Bool) { self.value = .bool(value) }
    func encode(_ value: String) { self.value = .string(value) }
    // The shortest number that is read as this one.
    func encode(_ value: Float) throws { try encode(Double("\(value)")!) }

    func encode(_ value: Double) throws {
        guard value.isFinite else { throw unwritable(value) }
        self.value = .number(value)
    }

    func encode<T: Encodable & FixedWidthInteger>(_ value: T) throws {
        guard let json = JSON(exactly: value) else { throw unwritable(value) }
        self.value = json
    }

    func encode<T: Encodable>(_ value: T) throws {
        switch value {
        case let json as JSON: try encode(json: json)
        case let object as JSONObject: try encode(json: .object(object))
        case let date as Date:
            let seconds = date.timeIntervalSince1970
            // ISO 8601 has years up to 9999, and Foundation cannot format a date without an end.
            guard abs(seconds) < 253_402_300_800 else { throw unwritable(seconds) }
            let isWhole = seconds.rounded() == seconds
            self.value = .string(date.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole)))
        case let data as Data: self.value = .string(data.base64EncodedString())
        case let url as URL: self.value = .string(url.absoluteString)
        case let decimal as Decimal:
            guard let json = try? JSON(parsing: "\(decimal)"), Decimal(string: "\(json)") == decimal else { throw unwritable(decimal) }
            self.value = json
        case let duration as Duration: self.value = .integer(try duration.wholeMilliseconds())
        default: try value.encode(to: self)
        }
    }

    private func encode(json: JSON) throws {
        if let number = json.infinite { throw unwritable(number) }
        value = json
    }
}

extension JSON {
    /// A number in this value that JSON does not have.
    fileprivate var infinite: Double? {
        switch self {
        case .number(let value): value.isFinite ? nil : value
        case .array(let values): values.lazy.compactMap(\.infinite).first
        case .object(let object): object.lazy.compactMap(\.1.infinite).first
        default: nil
        }
    }
}

private struct MemberContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) { encoder.part(key).encodeNil() }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try encoder.add(value, key) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        encoder.part(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder.part(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.part(Name("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.part(key) }
}

private struct Elements: UnkeyedEncodingContainer {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.parts.count }

    func encodeNil() { encoder.part(Name(count)).encodeNil() }
    func encode<T: Encodable>(_ value: T) throws { try encoder.add(value, Name(count)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.part(Name(count)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.part(Name(count)).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder.part(Name(count)) }
}
