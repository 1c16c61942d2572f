// Starts the server and uses it. Given a URL, it connects there instead.
import Foundation
import Trunkline

@main
struct Main {
    static func main() async throws {
        do {
            try await use(try await connect())
        } catch let error as TrunklineError {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    static func connect() async throws -> Client {
        if let url = CommandLine.arguments.dropFirst().first { return try await Client.connect(url: url) }
        return try await Client.connect(command: [".build/debug/tutorial_server"])
    }

    static func use(_ client: Client) async throws {
        try await client.use { client in
            print("tools: \(try await client.listTools().map(\.name).joined(separator: ", "))")
            for text in ["milk and bread", "bread"] {
                let result = try await client.callTool("add_note", ["name": "groceries", "text": .string(text)])
                print("\(result.isError ? "error:" : "result:") \(result.text)")
            }
            print(try await client.readResource("notes://all").contents.first?.text ?? "")
        }
    }
}
