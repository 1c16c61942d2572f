// A server for containers: configured by environment variables, stopped by SIGTERM.
@file:JvmName("DeployedServer")

package deployedserver

import dev.trunkline.server
import kotlinx.serialization.Serializable
import java.net.InetAddress
import kotlin.time.Duration.Companion.seconds

@Serializable
class Guest(val name: String)

suspend fun main() {
    val host = InetAddress.getLocalHost().hostName
    val greeter =
        server(
            "greeter",
            "1.0.0",
            options = {
                // On shutdown, calls get 20 s; other workers take over the sessions through the store.
                drainDeadline = 20.seconds
                store = System.getenv("STORE")
            },
        ) {
            tool<Guest>("greet", "Greet someone.") { guest -> "Hello, ${guest.name}, from $host!" }
        }

    // Listens on all addresses of the container, with probes at /healthz and /readyz.
    greeter.serveHttp {
        this.host = "0.0.0.0"
        port = System.getenv("PORT")?.toInt() ?: 8000
        health = true
    }
}
