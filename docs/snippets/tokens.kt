// A client that gets access tokens from a function, and a new one when the server refuses one.
package tokens

import dev.trunkline.AuthOptions
import dev.trunkline.Client
import dev.trunkline.Identity
import dev.trunkline.Token
import dev.trunkline.TokenVerifier
import dev.trunkline.server
import dev.trunkline.text

suspend fun main() {
    val files = server("files", "1.0.0") { tool("whoami", "Name the caller.") { auth?.subject ?: "nobody" } }
    val auth =
        AuthOptions().apply {
            resource = "http://127.0.0.1/mcp"
            authorizationServers = listOf("https://login.example.com")
        }
    val verifier = TokenVerifier { if (it.token == "token-of-today") Identity(subject = "ada") else null }

    val listener = files.listen(auth, verifier) { port = 0 }
    var token = "token-of-yesterday"
    val connecting =
        Client.connect(
            listener.url,
            options = {
                onAccessToken { request ->
                    if (request.refused) {
                        println("the token was refused") // here the program gets a new token
                        token = "token-of-today"
                    }
                    Token(token)
                }
            },
        )
    connecting.use { client -> println(client.callTool("whoami").text) }
    files.close()
}
