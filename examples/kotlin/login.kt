// Lists the tools of a server over HTTP that requires a login: opens the browser and stores the
// tokens.
@file:JvmName("Login")

package login

import dev.trunkline.Client
import dev.trunkline.OAuthOptions

suspend fun main(args: Array<String>) {
    val auth =
        OAuthOptions().apply {
            clientName = "Tool list"
            store = "file"
        }
    Client.connect(args.first(), auth = auth).use { client -> client.listTools().forEach { println(it.name) } }
}
