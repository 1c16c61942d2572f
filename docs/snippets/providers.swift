// Table rows as resources: listed page by page and read on request.
import Trunkline

struct Rows: Provider {
    let values = Members((1...5).map { ("row \($0)", "value \($0)") })
    let pageSize = 2

    func list(cursor: String?) async throws -> ProviderPage {
        guard let start = Int(cursor ?? "0"), values.names.indices.contains(start) else {
            throw TrunklineError(.protocol, "there is no such page", code: ErrorCodes.invalidParams)
        }
        let names = values.names.dropFirst(start).prefix(pageSize)
        let items: [JSONObject] = names.map { name in
            ["uri": .string(name.replacing("row ", with: "rows://")), "name": .string(name)]
        }
        let next = start + pageSize
        return ProviderPage(items: items, nextCursor: next < values.count ? "\(next)" : nil)
    }

    func get(_ params: JSONObject) async throws -> Output? {
        values[(params["uri"]?.string ?? "").replacing("rows://", with: "row ")]
    }
}

@main
struct Main {
    static func main() async throws {
        let table = Server("table", version: "1.0.0")
        try table.provider(.resources, Rows())

        try await Client.connect(to: table).use { client in
            print(try await client.listResources().map(\.name).joined(separator: ", "))
            print(try await client.readResource("rows://4").contents.first?.text ?? "")
        }
    }
}
