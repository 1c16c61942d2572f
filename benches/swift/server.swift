// The bench server in Swift: server stdio | http PORT [json] [stateless] [features] [--tools N]
// [--store URL] [--auth FILE]
import Foundation
import Trunkline

private struct Message: Decodable {
    let message: String
}

private struct Numbers: Decodable {
    let a: Int
    let b: Int
}

private struct Answer: Decodable {
    let value: String
}

private let arguments = CommandLine.arguments.dropFirst()

@main
struct Main {
    static func main() async throws {
        // Messages of `grow-bytes` are longer than the default allows.
        let server = Server("bench", version: "0.0.0", options: ServerOptions(store: value("--store"), maxMessageBytes: 128 << 20))
        let add: @Sendable (Numbers, Context) async throws -> Output = { it, _ in "\(it.a + it.b)" }
        try server.tool("echo", description: "Echo the message back") { (it: Message, _) in it.message }
        try server.tool("add", description: "Add two integers", add)
        for number in 0..<(value("--tools").flatMap { Int($0) } ?? 0) {
            try server.tool("tool_\(padded(number, 3))", description: "Generated tool number \(number)", add)
        }
        if has("features") { try addFeatures(server) }
        switch arguments.first {
        case "stdio": try await server.serveStdio()
        case "http":
            let http = HTTPOptions(port: value("http").flatMap { Int($0) }, stateless: has("stateless"), json: has("json"))
            try await server.serveHTTP(http, auth: try value("--auth").map(auth))
        default:
            let usage = "usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]\n"
            FileHandle.standardError.write(Data(usage.utf8))
            exit(2)
        }
    }
}

private func addFeatures(_ server: Server) throws {
    try server.tool("report", description: "Report progress, then echo the message back") { (it: Message, context) in
        for number in 1...20 { try await context.progress(Double(number), total: 20) }
        return it.message
    }
    try server.tool("ask", description: "Ask the user") { (it: Message, context) in
        try await context.elicit(it.message, as: Answer.self).content?.value ?? "no answer"
    }
    let names = (0..<100).map { "f\(padded($0, 2))" }
    let properties = JSONObject(names.map { ($0, ["type": "integer"]) })
    let wide: JSONObject = ["type": "object", "properties": .object(properties), "required": .array(names.map(JSON.string))]
    try server.tool("wide", description: "Add 100 integers", inputSchema: wide) { given, _ in
        "\(given.reduce(0) { sum, member in sum + (member.1.integer ?? 0) })"
    }
}

/// The access tokens from a file (tests/matrix/authorization.json).
private func auth(_ file: String) throws -> AuthOptions {
    try (JSON(parsing: String(contentsOfFile: file, encoding: .utf8))["auth"] ?? .null).decoded()
}

private func has(_ word: String) -> Bool { arguments.contains(word) }

private func value(_ option: String) -> String? { arguments.firstIndex(of: option).map { arguments[$0 + 1] } }

private func padded(_ number: Int, _ digits: Int) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}
