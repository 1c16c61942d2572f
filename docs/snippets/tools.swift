// A tool with typed arguments, and a client in the same process.
import Trunkline

struct Request: Decodable, DescribedMembers {
    let city: String
    let days: Int?
    static let descriptions = ["city": "The name of the city.", "days": "The number of days, 1 to 7."]
}

@main
struct Main {
    static func main() async throws {
        let weather = Server("weather", version: "1.0.0")
        try weather.tool("forecast", description: "Forecast the weather of a city.") { (request: Request, _) in
            let days = request.days ?? 2
            guard (1...7).contains(days) else { throw ToolError("days must be 1 to 7") }
            return "\(request.city): \(Array(repeating: "snow", count: days).joined(separator: ", "))"
        }

        try await Client.connect(to: weather).use { client in
            for tool in try await client.listTools() { print("\(tool.name): \(tool.description ?? "")") }
            print(try await client.callTool("forecast", ["city": "Oslo"]).text)
            let result = try await client.callTool("forecast", ["city": "Oslo", "days": 20])
            print(result.isError ? "refused" : result.text)
        }
    }
}
