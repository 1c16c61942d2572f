// A client that gets access tokens from a function, and a new one when the server refuses one.
import Trunkline

actor Tokens {
    private var newest = "token-of-yesterday"

    func token(for request: TokenRequest) -> Token {
        if request.refused {
            print("the token was refused")  // here the program gets a new token
            newest = "token-of-today"
        }
        return Token(token: newest)
    }
}

@main
struct Main {
    static func main() async throws {
        let files = Server("files", version: "1.0.0")
        try files.tool("whoami", description: "Name the caller.") { _, context in context.auth?.subject ?? "nobody" }
        let auth = AuthOptions(
            resource: "http://127.0.0.1/mcp", authorizationServers: ["https://login.example.com"])
        let verifier: TokenVerifier = { $0.token == "token-of-today" ? Identity(subject: "ada") : nil }

        let listener = try await files.listen(HTTPOptions(port: 0), auth: auth, verifier: verifier)
        let tokens = Tokens()
        let handlers = ClientHandlers(onAccessToken: { await tokens.token(for: $0) })
        try await Client.connect(url: listener.url, handlers: handlers).use { client in
            print(try await client.callTool("whoami").text)
        }
        try await files.close()
    }
}
