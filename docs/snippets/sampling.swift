// A tool that samples the client's model, and a client with a model.
import Trunkline

struct Text: Codable {
    let text: String
}

@available(*, deprecated, message: "for older revisions")
@main
struct Main {
    static func main() async throws {
        let notes = Server("notes", version: "1.0.0")
        try notes.tool("summarize", description: "Summarize a text.") { (given: Text, context) in
            let question = SamplingMessage(role: .user, content: [.text("Summarize in three words: \(given.text)")])
            return try await context.sample([question], maxTokens: 50).text
        }

        let handlers = ClientHandlers(onSample: { request in
            print("at most \(request.maxTokens) tokens")  // here the host asks its model
            return CreateMessageResult(role: .assistant, content: [.text("Snow in Oslo")], model: "a-model")
        })
        try await Client.connect(to: notes, handlers: handlers).use { client in
            let text = Text(text: "It has been snowing in Oslo since Monday.")
            print(try await client.callTool("summarize", text).text)
        }
    }
}
