// An agent skill: instructions served to clients, and a client that loads them.
import Foundation
import Trunkline

let manifest = """
    ---
    name: packing
    description: How to pack for a trip.
    ---
    Ask for the forecast first.

    """

@main
struct Main {
    static func main() async throws {
        let trips = Server("trips", version: "1.0.0")
        try trips.skill(files: ["SKILL.md": manifest])  // or `folder:` with a path

        try await Client.connect(to: trips).use { client in
            for skill in try await client.listSkills() {
                let facts = ["name", "description"].map { skill.frontmatter[$0]?.string ?? "" }
                print(facts.joined(separator: ": "))
                let text = try await client.loadSkill(skill).text ?? ""
                print(text.components(separatedBy: "---\n").last?.trimmingCharacters(in: .newlines) ?? "")
            }
        }
    }
}
