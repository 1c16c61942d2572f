import Foundation
import Testing

@testable import Trunkline

/// Notes what it gets.
private final class Recorder: TelemetryRecorder {
    static let trace = "0af7651916cd43dd8448eb211c80319c"
    @TaskLocal static var span: String?

    let ended = Locked<[(span: String, record: TelemetryRecord?)]>([])
    let thrown = Locked<[String]>([])
    let metrics = Locked<Set<String>>([])

    func start(_ record: TelemetryRecord, carrier: inout [String: String]) -> any TelemetrySpan {
        if record.kind == "client" { carrier["traceparent"] = "00-\(Self.trace)-00f067aa0ba902b7-01" }
        return Span(recorder: self, name: record.name ?? "")
    }

    func measure(_ metric: JSONObject) { metrics.with { _ = $0.insert(metric["name"]?.string ?? "") } }

    /// Waits for the end of the spans of both sides with this name.
    func both(_ name: String) async -> [TelemetryRecord] {
        while !Task.isCancelled {
            let found = ended.with { $0.compactMap(\.record).filter { $0.name == name } }
            if Set(found.map(\.kind)) == ["client", "server"] { return found }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return []
    }

    struct Span: TelemetrySpan {
        let recorder: Recorder
        let name: String

        func within<T: Sendable>(_ handler: @Sendable () async throws -> T) async throws -> T {
            do {
                return try await Recorder.$span.withValue(name) { try await handler() }
            } catch {
                recorder.thrown.with { $0.append("\(name): \(error)") }
                throw error
            }
        }

        func finish(_ record: TelemetryRecord?) { recorder.ended.with { $0.append((name, record)) } }
    }
}

private struct Answer: Codable {
    var colour: String
}

/// The recorder is that of the process, and other tests run at the same time.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TelemetryTests {
    private func observed(
        _ server: Server, options: ClientOptions = ClientOptions(), _ work: (Recorder, Client) async throws -> Void
    ) async throws {
        let recorder = Recorder()
        Telemetry.recorder = recorder
        defer { Telemetry.recorder = nil }
        let handlers = ClientHandlers(onElicit: { _ in ElicitResult(action: .accept, content: ["colour": "red"]) })
        try await Client.connect(to: server, options: options, handlers: handlers).use { try await work(recorder, $0) }
        try await server.close()
    }

    @Test func requestsHaveSpansOfBothSides() async throws {
        let server = Server("traced", version: "1")
        try server.tool("spanned") { _, _ in Recorder.span ?? "none" }
        try server.tool("traced") { _, context in context.meta["traceparent"]?.string ?? "" }
        try server.tool("failing") { _, _ in throw ToolError("no") }
        try await observed(server) { recorder, client in
            #expect(try await client.callTool("spanned").text == "tools/call spanned")
            #expect(try await client.callTool("traced").text.contains(Recorder.trace))
            #expect(try await client.callTool("failing").isError)
            try client.notify("notifications/com.example.note")
            let spanned = await recorder.both("tools/call spanned")
            #expect(spanned.count == 2 && spanned.allSatisfy { $0.error == nil && $0.endUs ?? 0 >= $0.startUs ?? .max })
            #expect(spanned.contains { $0.kind == "server" && $0.context["traceparent"]?.contains(Recorder.trace) == true })
            #expect(await recorder.both("tools/call failing").allSatisfy { $0.error != nil })
            #expect(recorder.thrown.with { $0.contains { $0.hasPrefix("tools/call failing") } })
            while !recorder.ended.with({ $0.contains { $0.record?.name == "notifications/com.example.note" } }) {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(recorder.ended.with { $0.contains { $0.record?.name == "server/discover" && $0.record?.kind == "client" } })
            let metrics = recorder.metrics.with { $0 }
            #expect(metrics.isSuperset(of: ["mcp.server.operation.duration", "mcp.client.operation.duration"]))
        }
    }

    @Test func aHandlerThatRunsAgainHasNotFailed() async throws {
        let server = Server("rounds", version: "1")
        try server.tool("rounds") { _, context in
            try await context.elicit("Which colour?", as: Answer.self).content?.colour ?? "none"
        }
        try await observed(server, options: ClientOptions(revision: .v2026_07_28)) { recorder, client in
            let result = try await client.callTool("rounds")
            #expect(result.text == "red")
            let records = await recorder.both("tools/call rounds")
            // The rounds are requests of one operation of the client.
            #expect(records.first { $0.kind == "client" }?.requests?.count == 2)
            #expect(!recorder.thrown.with { $0.contains { $0.hasPrefix("tools/call rounds") } })
        }
    }

    @Test func optionsTurnItOff() async throws {
        let server = Server("quiet", version: "1", options: ServerOptions(telemetry: false))
        try server.tool("quiet") { _, _ in Recorder.span ?? "none" }
        let loud = Server("loud", version: "1")
        try loud.tool("loud") { _, _ in "x" }
        try await observed(server, options: ClientOptions(telemetry: false)) { recorder, client in
            #expect(try await client.callTool("quiet").text == "none")
            try await Client.connect(to: loud).use { _ = try await $0.callTool("loud") }
            #expect(await !recorder.both("tools/call loud").isEmpty)
            #expect(!recorder.ended.with { $0.contains { $0.span == "tools/call quiet" } })
        }
        try await loud.close()
    }

    @Test func theLoadOfServersIsMeasured() async throws {
        let server = Server("load", version: "1")
        try server.tool("load") { _, _ in
            let load = try Telemetry.measurements()
            return JSON.object(JSONObject(load.map { ($0["name"]?.string ?? "", $0["value"] ?? .null) }))
        }
        try await observed(server) { _, client in
            let load = try JSON(parsing: try await client.callTool("load").text)
            #expect(load["trunkline.server.running_calls"]?.integer ?? 0 >= 1)
        }
    }

    @Test func theSpanOfAMessageThatIsNotSentEnds() async throws {
        let recorder = Recorder()
        Telemetry.recorder = recorder
        defer { Telemetry.recorder = nil }
        #expect(throws: ToolError.self) {
            try Port.shared.spans.numbering(none, ["method": "open"], [:]) { message in
                #expect(message["span"]?["trace"]?["traceparent"]?.string?.contains(Recorder.trace) == true)
                throw ToolError("no connection")
            }
        }
        #expect(recorder.ended.with { $0.contains { $0.record == nil } })
    }
}
