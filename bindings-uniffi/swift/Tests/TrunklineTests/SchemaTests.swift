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
                "days": ["type": "integer"],
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

    private struct Order: Decodable {
        struct Item: Decodable { let product: Product, also: [Item] }
        let items: [Item]
    }

    private struct Product: Decodable {
        struct Item: Decodable { let part: Int, also: [Item] }
        let items: [Item]
    }

    private struct Tree<Value: Decodable & Sendable>: Decodable {
        let value: Value
        let children: [Tree<Value>]
    }

    private struct Forest: Decodable { let small: Tree<Int>, large: [Tree<String>] }

    @Test func definitionsOfTypesOfTheSameNameHaveTheirOwn() async throws {
        let schema = try Schemas.of(Order.self)
        let item = schema["properties"]?["items"]?["items"]
        let definitions = schema["$defs"]
        #expect(item == ["$ref": "#/$defs/Item2"] || item == ["$ref": "#/$defs/Item"])
        #expect(Set(definitions?.object?.names ?? []) == ["Item", "Item2"])
        #expect(definitions?["Item"]?["properties"]?["part"] != definitions?["Item2"]?["properties"]?["part"])
        #expect(Set(try Schemas.of(Forest.self)["$defs"]?.object?.names ?? []) == ["Tree_Int", "Tree_String"])
        let server = Server("test", version: "1")
        try server.tool("tree") { (tree: Tree<Int>, _) in "\(tree.children[0].value)" }
        try await Client.connect(to: server).use { client in
            let children: JSON = [["value": 2, "children": []]]
            let text = try await client.callTool("tree", ["value": 1, "children": children]).text
            #expect(text == "2")
            #expect(try await client.callTool("tree", ["value": "a", "children": children]).isError)
        }
    }

    private struct Trip: Decodable, DescribedMembers {
        struct Leg: Decodable { let to: String, by: Unit?, next: [Leg]? }
        let legs: [Leg]
        let days: Int?
        let note: Int??
        static let descriptions = ["days": "How long."]
    }

    @Test func argumentsRefuseUnknownMembersAndAllowNull() async throws {
        let server = Server("test", version: "1")
        try server.tool("trip") { (trip: Trip, _) in "\(trip.legs.count) \(trip.days ?? 0)" }
        try await Client.connect(to: server).use { client in
            let days = try await client.listTools().first?.inputSchema["properties"]?["days"]
            #expect(days?["anyOf"]?.array?.last == ["type": "null"] && days?["description"] == "How long.")
            let leg: JSON = ["to": "Oslo", "by": .null, "next": [["to": "Bergen"]]]
            #expect(try await client.callTool("trip", ["legs": [leg], "days": .null, "note": .null]).text == "1 0")
            #expect(try await client.callTool("trip", ["legs": [["to": "Oslo", "bye": "celsius"]]]).text.contains("/legs/0"))
            #expect(try await client.callTool("trip", ["legs": [["to": "Oslo", "next": [["to": "Bergen", "x": 1]]]]]).isError)
        }
        let result = try Schemas.of(Trip.self)
        #expect(result["additionalProperties"] == nil && result["properties"]?["days"]?["anyOf"] == nil)
    }

    private struct Keyed: Decodable, Equatable {
        let names: [Int: String]
    }

    @Test func keysOfDictionariesAreNames() async throws {
        let server = Server("test", version: "1")
        try server.tool("names") { (keyed: Keyed, _) in keyed.names[7] ?? "" }
        try server.tool("root") { (names: [Int: String], _) in names[7] ?? "" }
        try await Client.connect(to: server).use { client in
            let text = try await client.callTool("names", ["names": ["7": "seven"]]).text
            #expect(text == "seven")
            #expect(try await client.callTool("root", ["7": "seven"]).text == "seven")
            #expect(try await client.callTool("root", ["7": 7]).isError)
        }
    }

    private enum Direction: Codable, CaseIterable { case up, down }
    private enum Color: String, Codable { case red, green }
    private struct Drawing: Decodable { let shapes: [Shape] }
    private struct Ranged: Decodable { let days: ClosedRange<Int> }

    private struct Code: Codable, SchemaProviding {
        static let jsonSchema: JSONObject = ["type": "string", "pattern": "^x"]
        let text: String

        init(from decoder: any Decoder) throws {
            text = try decoder.singleValueContainer().decode(String.self)
            guard text.hasPrefix("x") else { throw ToolError("a code begins with x") }
        }
    }

    private struct Coded: Decodable { let codes: [Code]?, code: Code }

    private struct Dynamic: Decodable {
        let all: [String: Int]

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Name.self)
            all = try members.allKeys.reduce(into: [:]) { $0[$1.stringValue] = try members.decode(Int.self, forKey: $1) }
        }
    }

    @Test(
        arguments: [
            (Shape.self, ["the schema of Shape ", "`allKeys`", "`inputSchema`"]),
            (Drawing.self, ["the schema of Drawing ", "/shapes, a Shape: ", "`SchemaProviding`"]),
            (Direction.self, ["`enum Direction: String`"]),
            (Color.self, ["make the enumeration `CaseIterable`"]),
            (Ranged.self, ["/days, a ClosedRange<Int>: ", "list"]),
            (Dynamic.self, ["`allKeys`"]),
            (Coded.self, ["/code, a Code: ", "a code begins with x", "`examples`"]),
        ] as [(any Decodable.Type, [String])])
    func aTypeWithoutASchemaIsAnErrorThatSaysWhatToDo(type: any Decodable.Type, parts: [String]) {
        let message = { () -> String in
            do { return "\(try Schemas.of(type, areArguments: true))" } catch { return "\(error)" }
        }()
        for part in parts { #expect(message.contains(part), "\(message)") }
        #expect(message.components(separatedBy: "; ").count == 2 && !message.contains("Swift."), "\(message)")
    }

    private struct Even: Decodable, SchemaProviding {
        static let jsonSchema: JSONObject = ["type": "integer", "multipleOf": 2, "minimum": 2, "examples": [4]]
        let half: Int

        init(from decoder: any Decoder) throws {
            half = try decoder.singleValueContainer().decode(Int.self) / 2
            guard half > 0 else { throw ToolError("two is the least") }
        }
    }

    private struct Counted: Decodable { let even: Even, code: Code? }

    @Test func aSampleOfATypeIsAmongItsExamples() throws {
        let schema = try Schemas.of(Counted.self)
        #expect(schema["properties"]?["even"] == .object(Even.jsonSchema) && schema["required"] == ["even"])
        #expect(schema["properties"]?["code"] == .object(Code.jsonSchema))
    }

    private struct Explicit: Decodable {
        let days: Int?

        init(from decoder: any Decoder) throws {
            days = try decoder.container(keyedBy: Name.self).decode(Int?.self, forKey: Name("days"))
        }
    }

    @Test func aMemberMayBeRequiredAndNull() throws {
        let schema = try Schemas.of(Explicit.self)
        #expect(schema["required"] == ["days"])
        #expect(schema["properties"]?["days"]?["anyOf"]?.array?.last == ["type": "null"])
    }

    @Test func resultsAreDecodedFromTheirContentAlone() throws {
        let result: CallToolResult = try ValueDecoder.model(["content": [], "structuredContent": ["name": "a"]])
        _ = try result.decoded(as: [String: Noted].self)
        struct Named: Decodable { let name: Noted }
        _ = try result.decoded(as: Named.self)
        #expect(Noted.texts.with { $0 } == ["a", "a"])
    }

    @Test func resultsThatAreNoObjectsAreWrapped() async throws {
        let server = Server("test", version: "1")
        try server.tool("list", returning: [Folder].self) { (_: Folder, _) in [Folder(name: "a", folders: [])] }
        try server.tool("same", returning: Folder.self) { (folder: Folder, _) in folder }
        try server.tool("perhaps", returning: Folder?.self) { (folder: Folder, _) in folder.name.isEmpty ? nil : folder }
        try server.tool("any", returning: JSON.self) { _, _ in ["a": 1] }
        try server.tool("given", returning: JSON.self, options: ToolOptions(outputSchema: ["type": "object"])) { _, _ in ["a": 1] }
        try await Client.connect(to: server).use { client in
            let schemas = try await client.listTools().map { $0.outputSchema }
            let list = schemas[0]?["properties"]?["result"]
            #expect(list?["type"] == "array" && list?["$defs"] == nil && schemas[0]?["$defs"]?["Folder"] != nil)
            #expect(list?["items"]?["properties"]?["folders"]?["items"] == ["$ref": "#/$defs/Folder"])
            #expect(schemas[1]?["properties"]?["name"] == ["type": "string"])
            let folder = Folder(name: "b", folders: [])
            #expect(try await client.callTool("list", folder).decoded(as: [Folder].self).first?.name == "a")
            #expect(try await client.callTool("same", folder).decoded(as: Folder.self).name == "b")
            for tool in ["perhaps", "same"] {
                #expect(try await client.callTool(tool, folder).decoded(as: Folder?.self)?.name == "b")
            }
            #expect(try await client.callTool("perhaps", Folder(name: "", folders: [])).decoded(as: Folder?.self) == nil)
            for tool in ["any", "given"] { #expect(try await client.callTool(tool).decoded(as: JSON.self) == ["a": 1]) }
            #expect(try await client.callTool("same", folder).decoded(as: JSON.self)["name"] == "b")
        }
    }
}

/// Keeps what it is decoded from.
private struct Noted: Decodable {
    static let texts = Locked<[String]>([])

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        Self.texts.with { $0.append(text) }
    }
}
