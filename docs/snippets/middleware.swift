// Middleware around each tool call: it counts calls and refuses some.
import Trunkline

struct Guest: Decodable {
    let name: String
}

// Task-local values follow requests to their handlers.
enum Title {
    @TaskLocal static var text = ""
}

@main
struct Main {
    static func main() async throws {
        let greeter = Server("greeter", version: "1.0.0")
        try greeter.middleware("tools/call") { request, _ in
            if request.params["arguments"]?["name"] == "Mallory" {
                throw TrunklineError(.protocol, "Mallory may not call.", code: 403)
            }
            let result = try await Title.$text.withValue("Countess") { try await request.next() }
            print("\(request.params["name"]?.string ?? "") was called")
            return result
        }
        try greeter.tool("greet", description: "Greet someone.") { (guest: Guest, _) in "Hello, \(Title.text) \(guest.name)!" }

        try await Client.connect(to: greeter).use { client in
            print(try await client.callTool("greet", ["name": "Ada"]).text)
            do {
                try await client.callTool("greet", ["name": "Mallory"])
            } catch let error as TrunklineError where error.kind == .protocol {
                print(error.code ?? 0)
            }
        }
    }
}
