// A server that changes its features at run time, for everyone or per caller.
import Trunkline

struct Article: Decodable {
    let article: String
}

func showTools(_ server: Server, to name: String) async throws {
    let options = ClientOptions(info: Implementation(name: name, version: "1.0.0"))
    try await Client.connect(to: server, options: options).use { client in
        let names = try await client.listTools().map(\.name)
        print("\(name): \(names.joined(separator: " "))")
    }
}

@main
struct Main {
    static func main() async throws {
        let shop = Server("shop", version: "1.0.0")
        let quick = ToolOptions(timeout: .seconds(2))
        let price = try shop.tool("price", description: "The price of an article.", options: quick) { (it: Article, _) in
            "\(it.article): 5"
        }
        // With access tokens: `context.auth`.
        let forStaff = ToolOptions(visible: { context in context.clientInfo?.name == "staff" })
        try shop.tool("discount", description: "Lower a price.", options: forStaff) { (it: Article, _) in
            "\(it.article) is cheaper now"
        }

        try await showTools(shop, to: "staff")
        try await showTools(shop, to: "guest")
        try price.update { $0.description = "The price of an article, in euros." }
        try price.disable()
        try await showTools(shop, to: "staff")
        try price.enable()
    }
}
