import Foundation

/// Parses JSON (RFC 8259).
struct JSONParser {
    private static let maxNesting = 512

    private let bytes: UnsafeRawBufferPointer
    private var at = 0
    private var nesting = 0

    static func parse(_ bytes: some ContiguousBytes) throws -> JSON {
        try bytes.withUnsafeBytes { bytes in
            var parser = JSONParser(bytes: bytes)
            let value = try parser.value()
            parser.skipSpace()
            guard parser.at == bytes.count else { throw parser.error("more text after the value") }
            return value
        }
    }

    private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B && byte != 0x0C { at += 1 }
    }

    private mutating func value() throws -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try nested { try $0.object() }
        case UInt8(ascii: "["): return try nested { try $0.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("the text ends where a value is expected")
        default: return try number()
        }
    }

    private mutating func nested(_ parse: (inout JSONParser) throws -> JSON) throws -> JSON {
        at += 1
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= Self.maxNesting else { throw error("more than \(Self.maxNesting) values are nested") }
        return try parse(&self)
    }

    private mutating func object() throws -> JSON {
        var object = JSONObject()
        if ends(with: "}") { return .object(object) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw error("a name in quotes is expected") }
            let name = try string()
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw error("':' is expected") }
            at += 1
            object[name] = try value()
        } while try continues(until: "}")
        return .object(object)
    }

    private mutating func array() throws -> JSON {
        var array: [JSON] = []
        if ends(with: "]") { return .array(array) }
        repeat { array.append(try value()) } while try continues(until: "]")
        return .array(array)
    }

    private mutating func ends(with end: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: end) else { return false }
        at += 1
        return true
    }

    private mutating func continues(until end: Unicode.Scalar) throws -> Bool {
        if ends(with: end) { return false }
        if ends(with: ",") { return true }
        throw error("',' or '\(end)' is expected")
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws -> JSON {
        let end = at + word.utf8CodeUnitCount
        guard end <= bytes.count, bytes[at..<end].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        else { throw error("a value is expected") }
        at = end
        return value
    }

    private mutating func number() throws -> JSON {
        let start = at
        var isWhole = true
        while let byte = next {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): break
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"): isWhole = false
            default: return try number(bytes[start..<at], isWhole)
            }
            at += 1
        }
        return try number(bytes[start..<at], isWhole)
    }

    private func number(_ digits: Slice<UnsafeRawBufferPointer>, _ isWhole: Bool) throws -> JSON {
        let text = String(decoding: digits, as: UTF8.self)
        if isWhole, let integer = Int(text) { return .integer(integer) }
        guard let number = Double(text) else { throw error("a value is expected") }
        return .number(number)
    }

    private mutating func string() throws -> String {
        at += 1
        let start = at
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { at += 1 }
        if next == UInt8(ascii: "\"") {
            at += 1
            return String(decoding: bytes[start..<(at - 1)], as: UTF8.self)
        }
        var text = Array(bytes[start..<at])
        while let byte = next {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: try escaped())
            default: text.append(byte)
            }
        }
        throw error("a string does not end")
    }

    private mutating func escaped() throws -> [UInt8] {
        guard let byte = next else { throw error("a string does not end") }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(decoding: try surrogates(), as: UTF16.self).utf8)
        default: throw error("an escape sequence is unknown")
        }
    }

    /// One unit of UTF-16, or two for a character beyond the first 65,536.
    private mutating func surrogates() throws -> [UInt16] {
        let first = try unit()
        guard UTF16.isLeadSurrogate(first), at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u")
        else { return [first] }
        at += 2
        return [first, try unit()]
    }

    private mutating func unit() throws -> UInt16 {
        guard at + 4 <= bytes.count, let unit = UInt16(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits are expected") }
        at += 4
        return unit
    }

    private func error(_ problem: String) -> TrunklineError {
        TrunklineError(.invalidArgument, "invalid JSON at byte \(at): \(problem)")
    }
}
