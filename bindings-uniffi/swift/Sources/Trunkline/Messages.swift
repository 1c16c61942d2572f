/// The members of a message that are not nil, in their order.
func parameters(_ members: [(String, (any Encodable)?)]) throws -> JSONObject {
    JSONObject(try members.compactMap { name, value in try value.map { (name, try written($0, name)) } })
}

/// A structure as an object.
func object(of structure: some Encodable) throws -> JSONObject { try JSON(encoding: structure).object ?? [:] }

/// A member that a message has.
func member<T: Decodable>(_ message: JSONObject, _ name: String) throws -> T {
    try ValueDecoder.model(message[name] ?? .null)
}

/// A function of the program for the core, which passes a model and gets another one.
func hostFunction<P: Decodable, R: Encodable>(_ handler: @escaping @Sendable (P) async throws -> R) -> HostFunction {
    { try object(of: try await handler(try ValueDecoder.model(.object($0)))) }
}

/// One of a few strings of the protocol. Peers of newer revisions may send others.
public protocol OpenEnum: RawRepresentable, Codable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible
where RawValue == String {
    init(rawValue: String)
}

extension OpenEnum {
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    public var description: String { rawValue }
}

/// A list, of which one value alone is written without an array.
public struct OneOrList<Element: Codable & Sendable & Hashable>: Codable, Sendable, Hashable, ExpressibleByArrayLiteral {
    public var values: [Element]

    public init(_ values: [Element]) { self.values = values }
    public init(arrayLiteral elements: Element...) { values = elements }

    public init(from decoder: any Decoder) throws {
        let json = try JSON(from: decoder)
        values = try ValueDecoder.model(json.array == nil ? [json] : json)
    }

    public func encode(to encoder: any Encoder) throws {
        if values.count == 1 { try values[0].encode(to: encoder) } else { try values.encode(to: encoder) }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that no time becomes none.
    func wholeMilliseconds() throws -> Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { throw TrunklineError(.invalidArgument, "a time must not be negative: \(self)") }
        let perMillisecond: Int64 = 1_000_000_000_000_000
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
        return overflows ? Int.max : Int(whole) + Int((attoseconds + perMillisecond - 1) / perMillisecond)
    }
}
