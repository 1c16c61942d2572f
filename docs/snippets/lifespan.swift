// A server that opens a database before the first call and closes it after the last.
import Trunkline

// Stands for a pool of connections.
final class Database: Sendable {
    private let name: String

    init(_ name: String) {
        self.name = name
        print("\(name) opens")
    }

    func count() -> Int { 7 }
    func close() { print("\(name) closes") }
}

@main
struct Main {
    static func main() async throws {
        let database = Lifespan(open: { Database("orders") }, close: { $0.close() })
        let orders = Server("orders", version: "1.0.0", lifespan: database)
        try orders.tool("count", description: "Count the orders.") { _, context in
            try context.lifespan(Database.self).count()
        }

        try await Client.connect(to: orders).use { client in
            print(try await client.callTool("count").text)
        }
    }
}
