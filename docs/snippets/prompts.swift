// A prompt with arguments, one of them optional, and a client that gets it.
import Trunkline

@main
struct Main {
    static func main() async throws {
        let review = Server("review", version: "1.0.0")
        let arguments = [
            PromptArgument(name: "code", description: "The code to review", required: true),
            PromptArgument(name: "focus"),
        ]
        try review.prompt("review", description: "Review code.", arguments: arguments) { given, _ in
            let question = "Review this code, above all for \(given["focus"] ?? "errors"): \(given["code"] ?? "")"
            return [
                PromptMessage(role: .user, content: .text(question)),
                PromptMessage(role: .assistant, content: .text("I will list each finding with its line.")),
            ]
        }

        try await Client.connect(to: review).use { client in
            for prompt in try await client.listPrompts() {
                let needed = (prompt.arguments ?? []).filter(\.required).map(\.name)
                print("\(prompt.name): \(prompt.description ?? "") Needs \(needed.joined(separator: ", ")).")
            }
            for message in try await client.getPrompt("review", ["code": "x = 1"]).messages {
                print("\(message.role): \(message.content.text ?? "")")
            }
        }
    }
}
