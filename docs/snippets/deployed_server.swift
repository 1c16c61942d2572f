// A server for containers: configured by environment variables, stopped by SIGTERM.
import Foundation
import Trunkline

struct Guest: Decodable {
    let name: String
}

@main
struct Main {
    static func main() async throws {
        let process = ProcessInfo.processInfo
        let (host, environment) = (process.hostName, process.environment)
        guard let port = Int(environment["PORT"] ?? "8000") else {
            print("PORT is not a number")
            exit(2)
        }
        // On shutdown, calls get 20 s; other workers take over the sessions through the store.
        let options = ServerOptions(drainDeadline: .seconds(20), store: environment["STORE"])
        let greeter = Server("greeter", version: "1.0.0", options: options)
        try greeter.tool("greet", description: "Greet someone.") { (guest: Guest, _) in "Hello, \(guest.name), from \(host)!" }

        // Listens on all addresses of the container, with probes at /healthz and /readyz.
        try await greeter.serveHTTP(HTTPOptions(host: "0.0.0.0", port: port, health: true))
    }
}
