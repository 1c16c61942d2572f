// Notes that a model can write and read. Serves stdio; given a port, HTTP.
import Foundation
import Trunkline

struct Note: Codable, DescribedMembers {
    let name: String
    let text: String
    static let descriptions = ["name": "A single word, such as groceries.", "text": "The note."]
}

actor Notes {
    private var texts: [String: String] = [:]

    func add(_ note: Note) throws {
        if texts[note.name] != nil {
            throw ToolError("A note named \(note.name) already exists: choose another name.")
        }
        texts[note.name] = note.text
    }

    var markdown: String {
        texts.sorted { $0.key < $1.key }.map { "- \($0.key): \($0.value)" }.joined(separator: "\n")
    }
}

@main
struct Main {
    static func main() async throws {
        let notes = Notes()
        let server = Server("notes", version: "1.0.0", instructions: "Keeps short notes for the user.")
        try server.tool("add_note", description: "Save a note under a name.") { [unowned server] (note: Note, _) in
            try await notes.add(note)
            try server.resourceUpdated("notes://all")
            return "Saved \(note.name)."
        }
        try server.resource("all", uri: "notes://all", description: "All notes.", mimeType: "text/markdown") { _, _ in
            await notes.markdown
        }
        let arguments = [PromptArgument(name: "day", required: true)]
        try server.prompt("plan", description: "Plan a day with the notes.", arguments: arguments) { given, _ in
            "Read notes://all and plan \(given["day"] ?? "today") accordingly."
        }

        guard let argument = CommandLine.arguments.dropFirst().first else { return try await server.serveStdio() }
        guard let port = Int(argument) else {
            print("usage: tutorial_server [PORT]")
            exit(2)
        }
        try await server.serveHTTP(HTTPOptions(port: port))
    }
}
