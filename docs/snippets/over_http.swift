// A server over HTTP that reads a request header in each call, and its client.
import Trunkline

@main
struct Main {
    static func main() async throws {
        let tenants = Server("tenants", version: "1.0.0")
        try tenants.tool("tenant", description: "Name the tenant of the caller.") { _, context in
            "\(context.headers["x-tenant"] ?? "nobody") at \(context.url ?? "")"
        }

        let listener = try await tenants.listen(HTTPOptions(port: 0, path: "/notes"))
        let endpoint = EndpointOptions(headers: ["X-Tenant": "acme"])
        try await Client.connect(url: listener.url, endpoint: endpoint).use { client in
            print(try await client.callTool("tenant").text)
            print(client.revision)
        }
        try await tenants.close()
    }
}
