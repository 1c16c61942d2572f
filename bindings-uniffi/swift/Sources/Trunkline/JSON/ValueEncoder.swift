import Foundation

/// Encodes values as JSON, whose members keep the order in which they are encoded. Dates are
/// ISO 8601 strings, data is Base64, and durations are whole milliseconds, rounded up.
final class ValueEncoder: Encoder {
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private let target: Target

    static func encode(_ value: some Encodable) throws -> JSON {
        try encode(value, at: [])
    }

    fileprivate static func encode(_ value: some Encodable, at path: [any CodingKey]) throws -> JSON {
        switch value {
        case let json as JSON: return json
        case let object as JSONObject: return .object(object)
        case let date as Date: return .string(date.ISO8601Format())
        case let data as Data: return .string(data.base64EncodedString())
        case let url as URL: return .string(url.absoluteString)
        case let decimal as Decimal:
            guard let json = try? JSON(parsing: "\(decimal)") else {
                let problem = EncodingError.Context(codingPath: path, debugDescription: "JSON has no \(decimal)")
                throw EncodingError.invalidValue(decimal, problem)
            }
            return json
        case let duration as Duration: return .integer(try duration.wholeMilliseconds())
        default:
            let encoder = ValueEncoder(path, Target())
            try value.encode(to: encoder)
            return encoder.target.json
        }
    }

    fileprivate init(_ codingPath: [any CodingKey], _ target: Target) {
        self.codingPath = codingPath
        self.target = target
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        target.begin(.members([]))
        return KeyedEncodingContainer(MemberContainer(codingPath: codingPath, target: target))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        target.begin(.elements([]))
        return Elements(codingPath: codingPath, target: target)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        Single(codingPath: codingPath, target: target)
    }
}

/// What a container fills.
private final class Target {
    enum Content {
        case value(JSON)
        case elements([Target])
        case members([(String, Target)])
    }

    private var content: Content?

    init(_ value: JSON? = nil) { content = value.map(Content.value) }

    var json: JSON {
        switch content {
        case .value(let json): json
        case .elements(let elements): .array(elements.map(\.json))
        case .members(let members): .object(JSONObject(members.map { ($0, $1.json) }))
        // As of a structure without members.
        case nil: .object([:])
        }
    }

    var count: Int { if case .elements(let elements) = content { elements.count } else { 0 } }

    /// A second container of the same kind continues the first.
    func begin(_ empty: Content) {
        switch (content, empty) {
        case (.elements, .elements), (.members, .members): break
        default: content = empty
        }
    }

    func set(_ json: JSON) { content = .value(json) }

    func append(_ element: Target) {
        guard case .elements(var elements) = content else { return }
        content = nil
        elements.append(element)
        content = .elements(elements)
    }

    func add(_ name: String, _ member: Target) {
        guard case .members(var members) = content else { return }
        content = nil
        members.append((name, member))
        content = .members(members)
    }
}

private struct MemberContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let codingPath: [any CodingKey]
    let target: Target

    private func nested(_ key: some CodingKey) -> ValueEncoder {
        let member = Target()
        target.add(key.stringValue, member)
        return ValueEncoder(codingPath + [key], member)
    }

    mutating func encodeNil(forKey key: Key) throws { target.add(key.stringValue, Target(.null)) }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        target.add(key.stringValue, Target(try ValueEncoder.encode(value, at: codingPath + [key])))
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        nested(key).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { nested(Name("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct Elements: UnkeyedEncodingContainer {
    let codingPath: [any CodingKey]
    let target: Target
    var count: Int { target.count }

    private func nested() -> ValueEncoder {
        let element = Target()
        let path = codingPath + [Name(count)]
        target.append(element)
        return ValueEncoder(path, element)
    }

    mutating func encodeNil() throws { target.append(Target(.null)) }

    mutating func encode<T: Encodable>(_ value: T) throws {
        target.append(Target(try ValueEncoder.encode(value, at: codingPath + [Name(count)])))
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        nested().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { nested() }
}

private struct Single: SingleValueEncodingContainer {
    let codingPath: [any CodingKey]
    let target: Target

    private func put(_ number: Double) throws {
        guard number.isFinite else {
            let problem = EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no \(number)")
            throw EncodingError.invalidValue(number, problem)
        }
        target.set(.number(number))
    }

    private func put(_ number: some BinaryInteger) {
        target.set(Int(exactly: number).map(JSON.integer) ?? .number(Double(number)))
    }

    mutating func encodeNil() throws { target.set(.null) }
    mutating func encode(_ value: Bool) throws { target.set(.bool(value)) }
    mutating func encode(_ value: String) throws { target.set(.string(value)) }
    mutating func encode(_ value: Double) throws { try put(value) }
    mutating func encode(_ value: Float) throws { try put(Double(value)) }
    mutating func encode<T: Encodable & FixedWidthInteger>(_ value: T) throws { put(value) }
    mutating func encode<T: Encodable>(_ value: T) throws { target.set(try ValueEncoder.encode(value, at: codingPath)) }
}
