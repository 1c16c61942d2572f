// A resource, a resource template, and a client that reads both.
import Trunkline

let texts: Members<String> = ["today": "Buy milk.", "friday": "Call Ada."]

@main
struct Main {
    static func main() async throws {
        let notes = Server("notes", version: "1.0.0")
        try notes.resource("index", uri: "notes://index", description: "The names of all notes.", mimeType: "text/plain") { _, _ in
            texts.names.joined(separator: ", ")
        }
        try notes.resource("note", uri: "notes://by-name/{name}", description: "One note.", mimeType: "text/plain") { request, _ in
            texts[request["name"] ?? ""]
        }

        try await Client.connect(to: notes).use { client in
            for resource in try await client.listResources() { print("\(resource.uri) \(resource.mimeType ?? "")") }
            for template in try await client.listResourceTemplates() { print(template.uriTemplate) }
            for uri in ["notes://index", "notes://by-name/friday"] {
                print(try await client.readResource(uri).contents.first?.text ?? "")
            }
            do {
                try await client.readResource("notes://by-name/monday")
            } catch let error as TrunklineError where error.kind == .protocol {
                print("\(error.kind) \(error.code ?? 0)")
            }
        }
    }
}
