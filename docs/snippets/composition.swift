// A gateway that exposes an older server under the newest revision, next to its own tool.
import Trunkline

@main
struct Main {
    static func main() async throws {
        let gateway = Server("gateway", version: "1.0.0")
        let extra = Server("extra", version: "1.0.0")
        try extra.tool("hello", description: "Greet.") { _, _ in "Hello" }

        let notes = [".build/debug/tutorial_server"]
        try await Client.connect(command: notes, options: ClientOptions(revision: .legacy)).use { old in
            try gateway.proxy(old)
            try gateway.mount("extra", extra)
            // Over HTTP: `gateway.listen`.
            let newest = ClientOptions(revision: .v2026_07_28)
            try await Client.connect(to: gateway, options: newest).use { client in
                print(try await client.listTools().map(\.name).joined(separator: " "))
                let result = try await client.callTool("add_note", ["name": "groceries", "text": "milk"])
                print("\(old.revision) as \(client.revision): \(result.text)")
            }
        }
    }
}
