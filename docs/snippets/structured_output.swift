// A tool that returns an object with a schema.
import Trunkline

struct Place: Decodable {
    let city: String
}

struct Weather: Codable {
    let sky: String
    let degrees: Double
}

@main
struct Main {
    static func main() async throws {
        let weather = Server("weather", version: "1.0.0")
        try weather.tool("weather", description: "The weather of a city.", returning: Weather.self) { (place: Place, _) in
            Weather(sky: "snow over \(place.city)", degrees: -3.5)
        }

        try await Client.connect(to: weather).use { client in
            let oslo: JSONObject = ["city": "Oslo"]
            print(try await client.callTool("weather", oslo).text)
            let today: Weather = try await client.callTool("weather", oslo).decoded()
            print("\(today.sky), \(today.degrees) degrees")
        }
    }
}
