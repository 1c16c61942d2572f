import Trunkline

struct Person: Codable { let name: String }

let server = Server("hello", version: "1.0.0")
try server.tool("hello") { (person: Person, _) in "Hello, \(person.name)!" }
print(try await Client.connect(to: server).use { try await $0.callTool("hello", Person(name: "Ada")).text })
