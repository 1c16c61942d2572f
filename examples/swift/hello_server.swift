// A server with one tool, over stdio.
import Trunkline

struct Guest: Decodable {
    let name: String
}

@main
struct Main {
    static func main() async throws {
        let hello = Server("hello", version: "1.0.0")
        try hello.tool("hello", description: "Greets someone.") { (guest: Guest, _) in "Hello, \(guest.name)!" }

        try await hello.serveStdio()
    }
}
