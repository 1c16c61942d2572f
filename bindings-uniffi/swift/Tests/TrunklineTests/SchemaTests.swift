import Foundation
import Testing

@testable import Trunkline

@Suite struct SchemaTests {
    private enum Unit: String, Decodable, CaseIterable { case celsius, fahrenheit }

    private struct Place: Decodable, DescribedMembers {
        let city: String
        let country: String?
        static let descriptions = ["city": "The city's name."]
    }

    private struct Forecast: Decodable {
        let place: Place
        let days: Int
        let units: [Unit]
        let weights: [String: Double]
        let price: Decimal
        let since: Date?

        enum CodingKeys: CodingKey { case place, days, units, weights, price, since }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            place = try members.decode(Place.self, forKey: .place)
            days = try members.decodeIfPresent(Int.self, forKey: .days) ?? 3
            units = try members.decode([Unit].self, forKey: .units)
            weights = try members.decode([String: Double].self, forKey: .weights)
            price = try members.decode(Decimal.self, forKey: .price)
            since = try members.decodeIfPresent(Date.self, forKey: .since)
        }
    }

    private struct Folder: Codable {
        let name: String
        let folders: [Folder]
    }

    private enum Shape: Decodable { case circle(radius: Double), square(side: Double) }

    @Test func aSchemaFollowsFromHowATypeIsDecoded() throws {
        let unit: JSON = ["type": "string", "enum": ["celsius", "fahrenheit"]]
        let city: JSON = ["type": "string", "description": "The city's name."]
        let expected: JSONObject = [
            "type": "object",
            "properties": [
                "place": ["type": "object", "properties": ["city": city, "country": ["type": "string"]], "required": ["city"]],
                "days": ["type": "integer", "minimum": .integer(.min), "maximum": .integer(.max)],
                "units": ["type": "array", "items": unit],
                "weights": ["type": "object", "additionalProperties": ["type": "number"]],
                "price": ["type": "number"],
                "since": ["type": "string", "format": "date-time"],
            ],
            "required": ["place", "units", "weights", "price"],
        ]
        let schema = try Schemas.of(Forecast.self)
        #expect(schema == expected)
        #expect(schema["properties"]?.object?.names == ["place", "days", "units", "weights", "price", "since"])
    }

    @Test func aTypeThatRefersToItselfIsDefinedOnce() throws {
        let schema = try Schemas.of(Folder.self)
        #expect(schema["properties"]?["folders"]?["items"] == ["$ref": "#/$defs/Folder"])
        #expect(schema["$defs"]?["Folder"]?["required"] == ["name", "folders"])
    }

    @Test func aTypeWithoutASchemaIsAnErrorThatSaysWhatToDo() {
        let message = { () -> String in
            do { return "\(try Schemas.of(Shape.self))" } catch { return "\(error)" }
        }()
        #expect(message.contains("the schema of Shape") && message.contains("`inputSchema`"))
    }

    @Test func resultsThatAreNoObjectsAreWrapped() async throws {
        let server = Server("test", version: "1")
        try server.tool("list", returning: [Folder].self) { (_: Folder, _) in [Folder(name: "a", folders: [])] }
        try server.tool("same", returning: Folder.self) { (folder: Folder, _) in folder }
        try await Client.connect(to: server).use { client in
            let schemas = try await client.listTools().map { $0.outputSchema }
            let list = schemas[0]?["properties"]?["result"]
            #expect(list?["type"] == "array" && list?["$defs"] == nil && schemas[0]?["$defs"]?["Folder"] != nil)
            #expect(list?["items"]?["properties"]?["folders"]?["items"] == ["$ref": "#/$defs/Folder"])
            #expect(schemas[1]?["properties"]?["name"] == ["type": "string"])
            let folder = Folder(name: "b", folders: [])
            #expect(try await client.callTool("list", folder).decoded(as: [Folder].self).first?.name == "a")
            #expect(try await client.callTool("same", folder).decoded(as: Folder.self).name == "b")
        }
    }
}
