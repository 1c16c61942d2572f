// A client for an entry of a configuration file: it starts the server and negotiates a revision.
import Trunkline

let entry: JSONObject = ["command": ".build/debug/tutorial_server"]

@main
struct Main {
    static func main() async throws {
        let options = ClientOptions(timeout: .seconds(10))
        try await Client.connect(configuration: entry, options: options).use { client in
            print("\(client.serverInfo?.name ?? "") \(client.serverInfo?.version ?? "")")
            print(client.revision)
            let capabilities = try JSON(encoding: client.capabilities).object?.names ?? []
            print(capabilities.sorted().joined(separator: ", "))
            print(client.instructions ?? "")
        }
    }
}
