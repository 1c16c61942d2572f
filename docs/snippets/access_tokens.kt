// A server over HTTP that requires access tokens, with a tool that requires a scope.
package accesstokens

import dev.trunkline.AuthOptions
import dev.trunkline.AuthorizationRequiredException
import dev.trunkline.Client
import dev.trunkline.Identity
import dev.trunkline.OAuthOptions
import dev.trunkline.TokenVerifier
import dev.trunkline.server
import dev.trunkline.text

suspend fun main() {
    val files =
        server("files", "1.0.0") {
            tool("whoami", "Name the caller.") { auth?.subject ?: "nobody" }
            tool("delete", "Delete all files.", options = { scopes = listOf("write") }) { "deleted" }
        }
    val auth =
        AuthOptions().apply {
            resource = "http://127.0.0.1/mcp"
            authorizationServers = listOf("https://login.example.com")
        }
    // Replaces the built-in JWT verifier, for opaque tokens stored in your database.
    val verifier =
        TokenVerifier { request ->
            if (request.token == "token-of-ada") Identity(subject = "ada", scopes = listOf("read")) else null
        }

    val listener = files.listen(auth, verifier) { port = 0 }
    Client.connect(listener.url, auth = OAuthOptions().apply { token = "token-of-ada" }).use { client ->
        println(client.listTools().joinToString { it.name })
        println(client.callTool("whoami").text)
    }
    try {
        Client.connect(listener.url)
    } catch (error: AuthorizationRequiredException) {
        println(error.httpStatus)
    }
    files.close()
}
