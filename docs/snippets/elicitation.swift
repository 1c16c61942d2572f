// A tool that asks the user a question, and a client that answers it.
import Trunkline

struct Table: Decodable {
    let people: Int
}

@main
struct Main {
    static func main() async throws {
        let restaurant = Server("restaurant", version: "1.0.0")
        try restaurant.tool("book", description: "Book a table.") { _, context in
            switch try await context.elicit("A table for how many?", as: Table.self) {
            case .accept(let table): return "A table for \(table.people) is booked."
            case .decline, .cancel: return "Nothing was booked."
            }
        }

        let handlers = ClientHandlers(onElicit: { request in
            print(request.message)  // here the user fills in the form of `request.requestedSchema`
            return ElicitResult(action: .accept, content: ["people": 4])
        })
        try await Client.connect(to: restaurant, handlers: handlers).use { client in
            print(try await client.callTool("book").text)
        }
    }
}
