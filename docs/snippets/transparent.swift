// A bridge that clients see as the server behind it, which starts with their first request.
import Trunkline

@main
struct Main {
    static func main() async throws {
        let bridge = Server("bridge", version: "1.0.0")

        let program = [".build/debug/tutorial_server"]
        try await Client.connect(command: program, options: ClientOptions(lazy: true)).use { notes in
            try bridge.proxy(notes, options: ProxyOptions(transparent: true))
            // Over HTTP: `bridge.listen`.
            try await Client.connect(to: bridge).use { client in
                let tools = try await client.listTools().map(\.name).joined(separator: " ")
                print("\(client.serverInfo?.name ?? ""): \(tools)")
            }
        }
    }
}
