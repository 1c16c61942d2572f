// A test of a tool that asks the user, with scripted answers.
import Trunkline

struct Table: Decodable {
    let people: Int
}

actor Script {
    private(set) var answers = [
        ElicitResult(action: .accept, content: ["people": 4]), ElicitResult(action: .decline),
    ]
    private(set) var asked: [String] = []

    func answer(_ request: ElicitRequest) -> ElicitResult {
        asked.append(request.message)
        return answers.removeFirst()
    }
}

@main
struct Main {
    static func main() async throws {
        // Reruns handlers that ask, on every revision: this reveals effects before a question.
        let restaurant = Server("restaurant", version: "1.0.0", options: ServerOptions(rerunHandlers: true))
        try restaurant.tool("book", description: "Book a table.") { _, context in
            guard let table = try await context.elicit("A table for how many?", as: Table.self).content else {
                return "Nothing was booked."
            }
            return "A table for \(table.people) is booked."
        }

        let script = Script()
        let handlers = ClientHandlers(onElicit: { await script.answer($0) })
        try await Client.connect(to: restaurant, handlers: handlers).use { client in
            for expected in ["A table for 4 is booked.", "Nothing was booked."] {
                let text = try await client.callTool("book").text
                precondition(text == expected)
            }
        }
        let (asked, left) = (await script.asked, await script.answers)
        precondition(asked == ["A table for how many?", "A table for how many?"] && left.isEmpty)
        print("all passed")
    }
}
