import Foundation
import Testing

@testable import Trunkline

@Suite struct JSONTests {
    @Test func textsAndMembersStayAsTheyAre() throws {
        let text = #"{"z":1,"a":[true,null,-2.5,"\"\\é😀\u0001"],"m":{}}"#
        #expect(try JSON(parsing: text).description == text)
        let escaped = try JSON(parsing: #""\ud83d\ude00\n\/""#)
        #expect(escaped == "😀\n/")
        #expect(try JSON(parsing: "9007199254740993") == 9_007_199_254_740_993)
    }

    @Test(
        arguments: ["", "{", #"{"a" 1}"#, "[1,]", "tru", "1 2", #""a"#, #""\x""#, "--1", String(repeating: "[", count: 600)] + [
            "01", "-01", "+1", ".5", "1.", "1.e1", "1e", "- 1", "1e999", #""\u+123""#, "\"\n\"",
        ])
    func invalidTextsAreErrorsThatNameTheByte(text: String) {
        let message = { () -> String in
            do { return "\(try JSON(parsing: text))" } catch { return "\(error)" }
        }()
        #expect(message.contains("invalid JSON at byte"), "\(message)")
    }

    @Test func textThatNestsTooDeepIsAnError() throws {
        func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        let deepest = try JSON(parsing: nested(160))
        #expect(try "\(JSON(encoding: deepest))" == nested(160))
        #expect(throws: TrunklineError.self) { try JSON(parsing: nested(512)) }
    }

    @Test func namesAreTheSameOnlyIfAllTheirBytesAre() throws {
        var json = try JSON(parsing: "{\"\u{e9}\":1,\"e\u{301}\":-0.5e+1}").object ?? [:]
        #expect(json.count == 2 && json["\u{e9}"] == 1 && json["e\u{301}"] == .number(-5))
        json["e\u{301}"] = nil
        #expect(json.names == ["\u{e9}"] && json["\u{e9}"] == 1)
    }

    @Test func nilIsAnAbsentValueAndNotNull() throws {
        let json: JSON = ["a": .null]
        func member(_ name: String) -> JSON? { name == "a" ? json["a"] : nil }
        func value(_ name: String) -> JSON? { name == "a" ? .null : nil }
        #expect(member("a") == .null && member("b") == nil && value("b") == nil)
        #expect((json["b"] ?? nil) == nil && json["b"]?["c"] == nil)
        let found: [JSON] = ["a", "b"].compactMap { name in name == "a" ? json : nil }
        #expect(found == [json])
    }

    @Test func objectsOfDictionariesAreInOrderAndPrintedAsJSON() throws {
        let city = "Oslo"
        let object = JSONObject(["b": JSON(city), "a": JSON(city.count), "c": JSON(0.5), "d": JSON(city.isEmpty)])
        #expect("\(object)" == #"{"a":4,"b":"Oslo","c":0.5,"d":false}"#)
        #expect("\(Members(["x": [1, 2]]))" == #"{"x":[1,2]}"#)
        #expect(Members(["x": GroupTarget.url("https://example.com")]).names == ["x"])
    }

    private struct Event: Codable, Equatable {
        var at: Date
        var lasts: Duration
        var data: Data
        var page: URL
        var tags: Set<String>
        var note: String?
    }

    @Test func valuesHaveTheFormsOfTheProtocol() throws {
        let event = Event(
            at: Date(timeIntervalSince1970: 60), lasts: .microseconds(1500), data: Data([1, 2]), page: URL(string: "https://a.b/c")!,
            tags: ["x"])
        let expected: JSON = [
            "at": "1970-01-01T00:01:00Z", "lasts": 2, "data": "AQI=", "page": "https://a.b/c", "tags": ["x"],
        ]
        #expect(try JSON(encoding: event) == expected)
        let read: Event = try expected.decoded()
        #expect(read.at == event.at && read.lasts == .milliseconds(2) && read.data == event.data && read.note == nil)
    }

    @Test func absentMembersOfModelsHaveTheirValues() throws {
        let json: JSON = ["resources": ["notes://all"]]
        let filter = SubscriptionFilter(resources: ["notes://all"])
        #expect(try json.decoded() == filter)
        #expect(try JSONDecoder().decode(SubscriptionFilter.self, from: Data("\(json)".utf8)) == filter)
    }

    @Test func wholeNumbersHave64Bits() async throws {
        struct Numbers: Codable, Equatable { var id: UInt64 }
        let server = Server("test", version: "1")
        try server.tool("same", returning: Numbers.self) { (numbers: Numbers, _) in numbers }
        try await Client.connect(to: server).use { client in
            for id: UInt64 in [.max, 1 << 63 + 1, 1 << 53 + 1, 0] {
                let same: Numbers = try await client.callTool("same", Numbers(id: id)).decoded()
                #expect(same.id == id)
            }
            let schema = try await client.listTools().first?.inputSchema
            #expect(schema?["properties"]?["id"] == ["type": "integer", "minimum": 0])
            #expect(try await client.callTool("same", ["id": 1.9e19]).isError)
        }
        let json = try JSON(parsing: "18446744073709551615")
        #expect(json == .unsigned(.max) && json.description == "18446744073709551615" && json.number == 0x1p64)
        #expect(try JSONDecoder().decode(JSON.self, from: JSONEncoder().encode(json)) == json)
    }

    @Test func numbersAreExactOrAnError() throws {
        #expect(try JSON(encoding: Float(0.1)) == 0.1)
        #expect(try JSON.number(0.1).decoded(as: Float.self) == 0.1)
        #expect(throws: DecodingError.self) { try JSON.number(1e300).decoded(as: Float.self) }
        #expect(throws: EncodingError.self) { try JSON(encoding: Decimal(string: "12345678901234567.125")!) }
        #expect(throws: DecodingError.self) { try JSON.number(1e300).decoded(as: Duration.self) }
    }

    @Test func datesKeepMilliseconds() throws {
        for date in [Date(timeIntervalSince1970: 0.75), Date(timeIntervalSince1970: 60)] {
            #expect(try JSON(encoding: date).decoded(as: Date.self) == date)
        }
        #expect(try JSON(encoding: Date(timeIntervalSince1970: 0.75)) == "1970-01-01T00:00:00.750Z")
        for seconds in [Double.infinity, -.infinity, .nan, 1e300] {
            #expect(throws: EncodingError.self) { try JSON(encoding: Date(timeIntervalSince1970: seconds)) }
        }
    }

    @Test(arguments: ["0", "0.1", "-12.345", "9007199254740993", "1e-7"]) func decimalsAreNumbers(text: String) throws {
        let decimal = try #require(Decimal(string: text))
        let json = try JSON(encoding: ["price": decimal])
        #expect(json["price"]?.number == Double(text))
        #expect(try json.decoded(as: [String: Decimal].self) == ["price": decimal])
    }

    @Test func whatJSONLacksIsAnError() {
        #expect(throws: EncodingError.self) { try JSON(encoding: Decimal.nan) }
        #expect(throws: DecodingError.self) { try JSON.string("1").decoded(as: Decimal.self) }
        #expect(throws: EncodingError.self) { try JSON(encoding: ["a": Double.nan]) }
        #expect(throws: EncodingError.self) { try JSON(encoding: JSON.array([["a": .number(.infinity)]])) }
        #expect(throws: EncodingError.self) { try JSON(encoding: ["a": .number(.nan)] as JSONObject) }
        #expect(throws: DecodingError.self) { try JSON.number(2.5).decoded(as: Int.self) }
        #expect(throws: DecodingError.self) { try JSON.integer(300).decoded(as: UInt8.self) }
    }

    /// Is written and read by nested containers.
    private struct Nested: Codable, Equatable {
        var id = 1
        var rows = [[1, 2], [3]]

        enum CodingKeys: CodingKey { case outer, id, rows, wrong }

        init() {}

        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: CodingKeys.self).nestedContainer(keyedBy: CodingKeys.self, forKey: .outer)
            id = try outer.decode(Int.self, forKey: .id)
            var rows = try outer.nestedUnkeyedContainer(forKey: .rows)
            self.rows = []
            while !rows.isAtEnd {
                var row = try rows.nestedUnkeyedContainer()
                self.rows.append([])
                while !row.isAtEnd { self.rows[self.rows.count - 1].append(try row.decode(Int.self)) }
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try? container.encode(Double.nan, forKey: .wrong)
            var outer = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .outer)
            try outer.encode(id, forKey: .id)
            var rows = outer.nestedUnkeyedContainer(forKey: .rows)
            for numbers in self.rows {
                var row = rows.nestedUnkeyedContainer()
                for number in numbers { try row.encode(number) }
            }
        }
    }

    @Test func nestedContainersAreMembersAndElements() throws {
        let json = try JSON(encoding: Nested())
        #expect(json == ["outer": ["id": 1, "rows": [[1, 2], [3]]]])
        #expect(try json.decoded(as: Nested.self) == Nested())
        #expect(throws: DecodingError.self) { try JSON.object(["outer": ["id": 1, "rows": [1]]]).decoded(as: Nested.self) }
    }

    @Test func modelsReadUnknownVariantsAndAbsentFlags() throws {
        let result: CallToolResult = try ValueDecoder.model(["content": [["type": "new", "a": 1], ["type": "text"]]])
        #expect(!result.isError && result.content == [.other(["type": "new", "a": 1]), .other(["type": "text"])])
    }

    @Test func theTextOfAMessageIsThatOfItsTextBlocks() throws {
        let result: CreateMessageResult = try ValueDecoder.model([
            "role": "assistant", "model": "m",
            "content": [["type": "text", "text": "a"], ["type": "new"], ["type": "text", "text": "b"]],
        ])
        #expect(result.content.values.count == 3 && result.text == "a\nb")
    }

    @Test func foundationReadsAndWritesModels() throws {
        let block = ContentBlock.text("hello")
        let data = try JSONEncoder().encode(block)
        #expect(try JSONDecoder().decode(ContentBlock.self, from: data) == block)
    }
}
