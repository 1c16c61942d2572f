// Calls the server, which is built with it, or one at a URL:
// swift run client [http://127.0.0.1:8000/mcp]
import Trunkline

@main
struct Main {
    static func main() async throws {
        try await connect().use { client in
            print("connected to \(client.serverInfo?.name ?? "a server"), revision \(client.revision)")
            for tool in try await client.listTools() { print("tool \(tool.name): \(tool.description ?? "")") }
            let options = RequestOptions(
                timeout: .seconds(10),
                onProgress: { report in
                    print("progress \(JSON(report.progress))\(report.total.map { " of \(JSON($0))" } ?? "")")
                })
            let result = try await client.callTool("forecast", ["city": "Oslo", "days": 2], options: options)
            print(result.text)
        }
    }

    static func connect() async throws -> Client {
        if let url = CommandLine.arguments.dropFirst().first { return try await Client.connect(url: url) }
        return try await Client.connect(command: [".build/debug/server"])
    }
}
