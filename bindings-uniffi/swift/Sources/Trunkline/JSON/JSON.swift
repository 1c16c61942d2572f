/// A JSON value. Literals become values, so that arguments can be written as
/// `["city": "Oslo", "days": 3]`. JSON's null is `.null`: `nil` is a value that is absent.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int)
    /// A whole number above `Int.max`.
    case unsigned(UInt64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    /// A whole number; nil if it has more than 64 bits.
    init?(exactly value: some FixedWidthInteger) {
        guard let json = Int(exactly: value).map(JSON.integer) ?? UInt64(exactly: value).map(JSON.unsigned) else { return nil }
        self = json
    }

    /// The value of a JSON text.
    public init(parsing text: String) throws { self = try JSONParser.parse(Array(text.utf8)) }

    /// A value that can be encoded, such as a structure.
    public init(encoding value: some Encodable) throws { self = try ValueEncoder.encode(value) }

    public init(_ value: Bool) { self = .bool(value) }
    public init(_ value: Int) { self = .integer(value) }
    public init(_ value: Double) { self = .number(value) }
    public init(_ value: String) { self = .string(value) }

    /// Decodes a value, such as a structure.
    public func decoded<T: Decodable>(as type: T.Type = T.self) throws -> T { try ValueDecoder(.json(self, isModel: false)).decode(type) }

    /// The member of an object; nil if there is none, or if this is not an object.
    public subscript(name: String) -> JSON? { object?[name] }

    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// A whole number.
    public var integer: Int? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int(exactly: value)
        default: nil
        }
    }

    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    public var string: String? { if case .string(let value) = self { value } else { nil } }

    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
}

extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(JSONObject(elements)) }
}

extension JSON: CustomStringConvertible {
    /// The value as JSON, on one line.
    public var description: String {
        var writer = JSONWriter()
        writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        if let own = decoder as? ValueDecoder, let value = own.json {
            self = value
            return
        }
        let container = try decoder.singleValueContainer()
        func value<T: Decodable>(_ kind: (T) -> JSON) -> JSON? { (try? container.decode(T.self)).map(kind) }
        let number = value(JSON.integer) ?? value(JSON.unsigned) ?? value(JSON.number)
        let simple = container.decodeNil() ? .null : value(JSON.bool) ?? number ?? value(JSON.string)
        self = try simple ?? value(JSON.array) ?? .object(try JSONObject(from: decoder))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
