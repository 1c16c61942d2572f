// A client that is notified when a resource changes, and when the list of tools does.
import Trunkline

let today = "notes://today"

actor Texts {
    private var all = ["Buy milk."]

    var latest: String? { all.last }

    func add(_ text: String) { all.append(text) }
    func clear() { all = [] }
}

@main
struct Main {
    static func main() async throws {
        let texts = Texts()
        let notes = Server("notes", version: "1.0.0")
        try notes.resource("today", uri: today, description: "The note of today.") { _, _ in await texts.latest }
        let clear = try notes.tool("clear", description: "Forget all notes.") { _, _ in
            await texts.clear()
            return "done"
        }

        try await Client.connect(to: notes).use { client in
            let subscription = try await client.subscribe(SubscriptionFilter(resources: [today], tools: true))
            await texts.add("Call Ada.")
            try notes.resourceUpdated(today)
            for try await change in subscription.changes {
                print([change.kind.description, change.uri].compactMap { $0 }.joined(separator: " "))
                guard change.kind == .resource else { break }
                print(try await client.readResource(today).contents.first?.text ?? "")
                clear.remove()
            }
            subscription.close()
        }
    }
}
