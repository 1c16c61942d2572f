// Information about a connection, and why one failed.
import Foundation
import Trunkline

struct DiskFull: LocalizedError {
    var errorDescription: String? { "disk full" }
}

@main
struct Main {
    static func main() async throws {
        // Sends error details, which may be secret, to clients: not for production.
        let backup = Server("backup", version: "1.0.0", options: ServerOptions(debug: true))
        try backup.tool("backup", description: "Back up all files.") { _, _ in throw DiskFull() }

        try await Client.connect(to: backup).use { client in
            print("\(client.revision) \(client.serverInfo?.name ?? "")")
            let result = try await client.callTool("backup")
            let cause = result.text.firstMatch(of: /disk full/)?.output ?? "unknown"
            print("\(result.isError ? "error:" : "result:") \(cause)")
        }
    }
}
