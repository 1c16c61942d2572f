// A host in the terminal: swift run agent_host mcp.json
//
// It connects to every server in the configuration, lists their features, and calls the tools that
// the user names. Servers can ask the user in the terminal, and let the user log in with the
// browser.
import Foundation
import Trunkline

let help = """
      NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
      read URI             reads a resource
      prompt NAME [JSON]   gets a prompt

    """

func show(_ group: ClientGroup) async throws {
    for server in try await group.servers() { print("\(server.name): \(server.error?.message ?? "\(server.state)")") }
    for tool in try await group.listTools() { print("tool \(tool.name): \(tool.description ?? "")") }
    for resource in try await group.listResources() { print("resource \(resource.uri): \(resource.name)") }
    for prompt in try await group.listPrompts() { print("prompt \(prompt.name): \(prompt.description ?? "")") }
}

/// The first word of a line, and the rest.
func firstWord(_ line: String) -> (String, String) {
    let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
    return (parts.first ?? "", parts.dropFirst().first ?? "")
}

func arguments<T: Decodable>(_ text: String) throws -> T {
    try JSON(parsing: text.isEmpty ? "{}" : text).decoded()
}

func run(_ line: String, _ group: ClientGroup) async throws {
    let (name, rest) = firstWord(line)
    switch name {
    case "read":
        for contents in try await group.readResource(rest).contents { print(try JSON(encoding: contents)) }
    case "prompt":
        let (prompt, given) = firstWord(rest)
        for message in try await group.getPrompt(prompt, arguments(given) as [String: String]).messages {
            print("\(message.role): \(try JSON(encoding: message.content))")
        }
    default:
        for block in try await group.callTool(name, arguments(rest) as JSONObject).content {
            print(try block.text ?? "\(JSON(encoding: block))")
        }
    }
}

func prompt() {
    print("> ", terminator: "")
    fflush(nil)
}

@main
struct Main {
    // Waiting for a line blocks the main thread, and none of those that run tasks.
    @MainActor static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: agent_host mcp.json")
            exit(2)
        }
        let auth = OAuthOptions(clientName: "Agent host", store: "file")
        // The program uses the terminal only between calls; during calls, `terminalForms` may.
        let options = ClientOptions(terminalForms: true)
        let group = try await ClientGroup.connect(file: CommandLine.arguments[1], auth: auth, options: options)
        try await show(group)
        print(help, terminator: "")
        prompt()
        while let line = readLine()?.trimmingCharacters(in: .whitespaces) {
            do {
                if !line.isEmpty { try await run(line, group) }
            } catch let error as TrunklineError {
                print("error: \(error.message)")
            } catch {
                print("error: \(error)")
            }
            prompt()
        }
        try await group.close()
    }
}
