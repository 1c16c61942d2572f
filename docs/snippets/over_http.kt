// A server over HTTP that reads a request header in each call, and its client.
package overhttp

import dev.trunkline.Client
import dev.trunkline.server
import dev.trunkline.text

suspend fun main() {
    val tenants =
        server("tenants", "1.0.0") {
            tool("tenant", "Name the tenant of the caller.") { "${headers["x-tenant"] ?: "nobody"} at $url" }
        }

    val listener =
        tenants.listen {
            port = 0
            path = "/notes"
        }
    Client.connect(listener.url, { headers = mapOf("X-Tenant" to "acme") }).use { client ->
        println(client.callTool("tenant").text)
        println(client.revision)
    }
    tenants.close()
}
