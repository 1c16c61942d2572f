// Starts the server, which is built with it, and calls its tool.
import Trunkline

@main
struct Main {
    static func main() async throws {
        try await Client.connect(command: [".build/debug/hello_server"]).use { client in
            print(try await client.callTool("hello", ["name": "Ada"]).text)
        }
    }
}
