/// A JSON object.
public typealias JSONObject = Members<JSON>

/// The members of an object by their names, which keep their order.
public struct Members<Value> {
    /// The names of the members, in their order.
    public private(set) var names: [String] = []
    private var values: [ExactName: Value] = [:]

    public init() {}

    /// An object of these members. The last of several with the same name remains.
    public init(_ members: some Sequence<(String, Value)>) {
        for (name, value) in members { self[name] = value }
    }

    /// An object of the members of a dictionary, by name.
    public init(_ members: [String: Value]) { self.init(members.sorted { $0.key < $1.key }.lazy.map { ($0.key, $0.value) }) }

    public var isEmpty: Bool { names.isEmpty }
    public var count: Int { names.count }

    /// The value of a member. Setting nil removes it.
    public subscript(name: String) -> Value? {
        get { values[ExactName(name: name)] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: ExactName(name: name)) == nil { names.append(name) }
            } else if values.removeValue(forKey: ExactName(name: name)) != nil {
                names.removeAll { ExactName(name: $0) == ExactName(name: name) }
            }
        }
    }

    /// This object with the members of another one, which replace its own.
    public func merging(_ other: Members) -> Members {
        var merged = self
        for (name, value) in other { merged[name] = value }
        return merged
    }
}

/// A name as JSON compares it: `é` and `e` with an accent are equal in Swift, but not the same
/// name.
private struct ExactName: Hashable, Sendable {
    let name: String

    static func == (one: Self, other: Self) -> Bool { one.name.utf8.elementsEqual(other.name.utf8) }

    func hash(into hasher: inout Hasher) {
        var name = name
        name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension Members: Sendable where Value: Sendable {}

extension Members: Sequence {
    public func makeIterator() -> AnyIterator<(String, Value)> {
        var rest = names.makeIterator()
        return AnyIterator {
            guard let name = rest.next(), let value = self[name] else { return nil }
            return (name, value)
        }
    }
}

extension Members: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, Value)...) { self.init(elements) }
}

extension Members: CustomStringConvertible where Value: Encodable {
    /// The object as JSON, on one line.
    public var description: String { (try? JSON(encoding: self))?.description ?? "\(Array(self))" }
}

extension Members: Equatable where Value: Equatable {
    /// Returns whether both have the same members, in any order.
    public static func == (one: Members, other: Members) -> Bool { one.values == other.values }
}

extension Members: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

extension Members: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        self.init(try container.allKeys.map { ($0.stringValue, try container.decode(Value.self, forKey: $0)) })
    }
}

extension Members: Encodable where Value: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in self { try container.encode(value, forKey: Name(name)) }
    }
}

/// The name of any member, or the index of an element.
struct Name: CodingKey {
    let stringValue: String
    var intValue: Int?

    init(_ name: String) { stringValue = name }

    init(_ index: Int) {
        self.init("\(index)")
        intValue = index
    }

    init(stringValue: String) { self.init(stringValue) }
    init(intValue: Int) { self.init(intValue) }
}
