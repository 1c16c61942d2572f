// A server with one tool. Over stdio: swift run server; over HTTP: swift run server 8000
import Foundation
import Trunkline

let skies: Members<String> = ["Oslo": "snow", "Rome": "sunny"]

struct Request: Decodable {
    let city: String
    let days: Int?
}

@main
struct Main {
    static func main() async throws {
        let weather = Server("weather", version: "1.0.0")
        try weather.tool("forecast", description: "Forecast the weather of a city.") { (request: Request, context) in
            guard let sky = skies[request.city] else {
                throw ToolError("no forecast for \(request.city); try \(skies.names.joined(separator: " or "))")
            }
            let days = request.days ?? 3
            guard (1...14).contains(days) else { throw ToolError("forecasts are for 1 to 14 days") }
            var lines: [String] = []
            for day in 1...days {
                try await context.progress(Double(day), total: Double(days))
                lines.append("day \(day): \(sky)")
            }
            return lines.joined(separator: "\n")
        }

        guard let argument = CommandLine.arguments.dropFirst().first else { return try await weather.serveStdio() }
        guard let port = Int(argument) else {
            print("usage: server [PORT]")
            exit(2)
        }
        let listener = try await weather.listen(HTTPOptions(port: port))
        print("listening at \(listener.url)")
        try await listener.run()
    }
}
