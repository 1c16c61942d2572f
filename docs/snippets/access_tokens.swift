// A server over HTTP that requires access tokens, with a tool that requires a scope.
import Trunkline

@main
struct Main {
    static func main() async throws {
        let files = Server("files", version: "1.0.0")
        try files.tool("whoami", description: "Name the caller.") { _, context in context.auth?.subject ?? "nobody" }
        try files.tool("delete", description: "Delete all files.", options: ToolOptions(scopes: ["write"])) { _, _ in "deleted" }
        let auth = AuthOptions(
            resource: "http://127.0.0.1/mcp", authorizationServers: ["https://login.example.com"])
        // Replaces the built-in JWT verifier, for opaque tokens stored in your database.
        let verifier: TokenVerifier = { request in
            request.token == "token-of-ada" ? Identity(subject: "ada", scopes: ["read"]) : nil
        }

        let listener = try await files.listen(HTTPOptions(port: 0), auth: auth, verifier: verifier)
        try await Client.connect(url: listener.url, auth: OAuthOptions(token: "token-of-ada")).use { client in
            print(try await client.listTools().map(\.name).joined(separator: ", "))
            print(try await client.callTool("whoami").text)
        }
        do {
            _ = try await Client.connect(url: listener.url)
        } catch let error as TrunklineError where error.kind == .authorizationRequired {
            print(error.httpStatus ?? 0)
        }
        try await files.close()
    }
}
