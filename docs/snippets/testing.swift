// Tests of a server without sockets or processes. In your project, make them functions with
// `@Test`.
import Trunkline

struct Division: Decodable {
    let dividend: Double
    let divisor: Double
}

func divide(_ given: Division) throws -> Double {
    if given.divisor == 0 { throw ToolError("division by zero") }
    return given.dividend / given.divisor
}

func theFunctionItself() throws {
    let quotient = try divide(Division(dividend: 3, divisor: 2))
    precondition(quotient == 1.5)
}

func aCallThroughTheProtocol(_ server: Server, revision: RevisionChoice) async throws {
    try await Client.connect(to: server, options: ClientOptions(revision: revision)).use { client in
        precondition(client.revision == revision.rawValue)
        let quotient: String = try await client.callTool("divide", ["dividend": 3, "divisor": 2]).decoded()
        precondition(quotient == "1.5")
    }
}

func failures(_ server: Server) async throws {
    try await Client.connect(to: server).use { client in
        do {
            let _: String = try await client.callTool("divide", ["dividend": 3, "divisor": 0]).decoded()
        } catch let error as ToolError {
            print("the handler failed: \(error.message)")
        }
    }
}

@main
struct Main {
    static func main() async throws {
        let calculator = Server("calculator", version: "1.0.0")
        try calculator.tool("divide", description: "Divide two numbers.") { (given: Division, _) in try divide(given) }
        try theFunctionItself()
        for revision in [RevisionChoice.v2026_07_28, .v2024_11_05] {
            try await aCallThroughTheProtocol(calculator, revision: revision)
        }
        try await failures(calculator)
        print("all passed")
    }
}
