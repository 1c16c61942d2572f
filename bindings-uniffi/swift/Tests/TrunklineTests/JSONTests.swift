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

    @Test(arguments: ["", "{", #"{"a" 1}"#, "[1,]", "tru", "1 2", #""a"#, #""\x""#, "--1", String(repeating: "[", count: 600)])
    func invalidTextsAreErrorsThatNameTheByte(text: String) {
        let message = { () -> String in
            do { return "\(try JSON(parsing: text))" } catch { return "\(error)" }
        }()
        #expect(message.contains("invalid JSON at byte"), "\(message)")
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
        #expect(throws: DecodingError.self) { try JSON.number(2.5).decoded(as: Int.self) }
        #expect(throws: DecodingError.self) { try JSON.integer(300).decoded(as: UInt8.self) }
    }

    @Test func modelsReadUnknownVariantsAndAbsentFlags() throws {
        let result: CallToolResult = try ValueDecoder.model(["content": [["type": "new", "a": 1], ["type": "text"]]])
        #expect(!result.isError && result.content == [.other(["type": "new", "a": 1]), .other(["type": "text"])])
    }

    @Test func foundationReadsAndWritesModels() throws {
        let block = ContentBlock.text("hello")
        let data = try JSONEncoder().encode(block)
        #expect(try JSONDecoder().decode(ContentBlock.self, from: data) == block)
    }
}
