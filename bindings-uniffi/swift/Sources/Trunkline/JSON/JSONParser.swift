import Foundation

/// Parses JSON (RFC 8259).
struct JSONParser {
    /// Messages nest no deeper than 128 levels, and the threads that run tasks have small stacks.
    private static let maxNesting = 160

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

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B && byte != 0x0C { at += 1 }
    }

    /// Skips this text if it comes next.
    @inline(__always)
    private mutating func skips(_ text: StaticString) -> Bool {
        skipSpace()
        let end = at + text.utf8CodeUnitCount
        guard end <= bytes.count, memcmp(bytes.baseAddress! + at, text.utf8Start, end - at) == 0 else { return false }
        at = end
        return true
    }

    private mutating func value() throws -> JSON {
        if skips("\"") { return .string(try string()) }
        if skips("{") { return .object(try nested { try $0.object() }) }
        if skips("[") { return .array(try nested { try $0.array() }) }
        if skips("true") { return .bool(true) }
        if skips("false") { return .bool(false) }
        if skips("null") { return .null }
        return try number()
    }

    private mutating func nested<T>(_ parse: (inout JSONParser) throws -> T) throws -> T {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= Self.maxNesting else { throw error("more than \(Self.maxNesting) values are nested") }
        return try parse(&self)
    }

    private mutating func object() throws -> JSONObject {
        var object = JSONObject()
        if skips("}") { return object }
        repeat {
            guard skips("\"") else { throw error("a name in quotes is expected") }
            let name = try string()
            guard skips(":") else { throw error("':' is expected") }
            object[name] = try value()
        } while try continues(until: "}")
        return object
    }

    private mutating func array() throws -> [JSON] {
        var array: [JSON] = []
        if skips("]") { return array }
        repeat { array.append(try value()) } while try continues(until: "]")
        return array
    }

    private mutating func continues(until end: StaticString) throws -> Bool {
        if skips(end) { return false }
        if skips(",") { return true }
        throw error("',' or '\(end)' is expected")
    }

    private mutating func number() throws -> JSON {
        let start = at
        _ = follows("-")
        if !follows("0") { try digits() }
        if follows(".") { try digits() }
        if follows("e") || follows("E") {
            _ = follows("+") || follows("-")
            try digits()
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        if let integer = Int(text) { return .integer(integer) }
        if let unsigned = UInt64(text) { return .unsigned(unsigned) }
        guard let number = Double(text), number.isFinite else { throw error("a number is too large") }
        return .number(number)
    }

    /// Skips this character if it comes next, without space before it.
    private mutating func follows(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    private mutating func digits() throws {
        let start = at
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { at += 1 }
        if at == start { throw error("a value is expected") }
    }

    /// The rest of a string, after its first quote.
    private mutating func string() throws -> String {
        var text = ""
        while true {
            let start = at
            while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { at += 1 }
            text += String(decoding: bytes[start..<at], as: UTF8.self)
            guard let end = next, end >= 0x20 else { throw error("a string does not end on its line") }
            at += 1
            if end == UInt8(ascii: "\"") { return text }
            text += try escaped()
        }
    }

    private mutating func escaped() throws -> String {
        guard let byte = next else { throw error("a string does not end") }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return String(decoding: try surrogates(), as: UTF16.self)
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
        guard at + 4 <= bytes.count, bytes[at] != UInt8(ascii: "+"), bytes[at] != UInt8(ascii: "-"),
            let unit = UInt16(String(decoding: bytes[at..<(at + 4)], as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits are expected") }
        at += 4
        return unit
    }

    private func error(_ problem: String) -> TrunklineError {
        TrunklineError(.invalidArgument, "invalid JSON at byte \(at): \(problem)")
    }
}
