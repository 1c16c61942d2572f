// Many servers behind one client. One of them fails to start; the others work.
import Trunkline

@main
struct Main {
    static func main() async throws {
        // Or `file:` with the path of an mcp.json.
        try await ClientGroup.connect([
            "notes": .command([".build/debug/tutorial_server"]),
            "broken": .command(["no-such-program"]),
        ]).use { group in
            for server in try await group.servers() {
                print("\(server.name): \(server.error == nil ? "connected" : "failed")")
            }
            for tool in try await group.listTools() { print(tool.name) }
            print(try await group.callTool("notes__add_note", ["name": "groceries", "text": "milk"]).text)
        }
    }
}
