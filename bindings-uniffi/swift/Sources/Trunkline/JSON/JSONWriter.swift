/// Writes JSON on one line.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []

    /// A number that JSON does not have, which was written as null.
    private(set) var infinite: Double?

    mutating func write(_ json: JSON) {
        switch json {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .integer(let value): append(String(value))
        case .unsigned(let value): append(String(value))
        case .number(let value): append(text(of: value))
        case .string(let value): write(value)
        case .array(let values): write(values, "[", "]") { writer, value in writer.write(value) }
        case .object(let object):
            write(object, "{", "}") { writer, member in
                writer.write(member.0)
                writer.bytes.append(UInt8(ascii: ":"))
                writer.write(member.1)
            }
        }
    }

    private mutating func write<Part>(
        _ parts: some Sequence<Part>, _ start: String, _ end: String, _ write: (inout JSONWriter, Part) -> Void
    ) {
        append(start)
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(&self, part)
        }
        append(end)
    }

    private mutating func text(of number: Double) -> String {
        guard number.isFinite else {
            infinite = number
            return "null"
        }
        return Int(exactly: number).map(String.init) ?? "\(number)"
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func write(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
