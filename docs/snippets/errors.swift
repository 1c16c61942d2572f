// Errors: for the model, for the log, protocol errors, and timeouts.
import Trunkline

struct Article: Decodable {
    let article: String
}

struct MissingRow: Error {
    let key: String
    let table = "prices.db"
}

@main
struct Main {
    static func main() async throws {
        let shop = Server("shop", version: "1.0.0")
        try shop.tool("price", description: "The price of an article.") { (it: Article, _) in
            if it.article == "sun" { throw ToolError("The sun is not for sale.") }
            throw MissingRow(key: it.article)
        }
        try shop.tool("wait", description: "Never ends.") { _, _ in
            while true { try await Task.sleep(for: .seconds(60)) }
        }

        try await Client.connect(to: shop).use { client in
            for article in ["sun", "moon"] {
                print(try await client.callTool("price", ["article": .string(article)]).text)
            }
            do {
                try await client.callTool("prize")
            } catch let error as TrunklineError where error.kind == .protocol {
                print("\(error.kind) \(error.code ?? 0)")
            }
            do {
                try await client.callTool("wait", options: RequestOptions(timeout: .milliseconds(50)))
            } catch let error as TrunklineError where error.kind == .timeout {
                print(error.kind)
            }
        }
    }
}
