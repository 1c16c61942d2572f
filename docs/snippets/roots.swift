// A tool that only works in folders its client allows.
import Trunkline

@available(*, deprecated, message: "for older revisions")
@main
struct Main {
    static func main() async throws {
        let search = Server("search", version: "1.0.0")
        try search.tool("folders", description: "Name the folders that may be searched.") { _, context in
            try await context.listRoots().map { $0.name ?? $0.uri }.joined(separator: ", ")
        }

        let folders = [Root(uri: "file:///home/ada/notes", name: "notes"), Root(uri: "file:///srv/wiki")]
        try await Client.connect(to: search, options: ClientOptions(roots: folders)).use { client in
            print(try await client.callTool("folders").text)
        }
    }
}
