// A vendor-specific method, and a client that calls it.
import Trunkline

let schema: JSONObject = [
    "type": "object",
    "properties": ["terms": ["type": "array", "items": ["type": "number"]]],
    "required": ["terms"],
]

@main
struct Main {
    static func main() async throws {
        let sums = Server("sums", version: "1.0.0")
        try sums.requestHandler("com.acme/sum", options: RequestHandlerOptions(paramsSchema: schema)) { params, context in
            try await context.progress(1, total: 1)
            let terms = (params["terms"]?.array ?? []).compactMap(\.number)
            return ["sum": .number(terms.reduce(0, +))]
        }

        try await Client.connect(to: sums).use { client in
            let reply = try await client.request("com.acme/sum", ["terms": [1, 2, 39]])
            print(reply["sum"] ?? 0)
        }
    }
}
