// The spans of a call. With swift-distributed-tracing, `start` starts a span, `within` makes it the
// current one and `finish` ends it; here they note its name.
import Trunkline

struct Recorder: TelemetryRecorder {
    let names: AsyncStream<String>.Continuation

    // The span of a request, and the trace context of an outgoing one.
    func start(_ record: TelemetryRecord, carrier: inout [String: String]) -> any TelemetrySpan {
        carrier["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
        return NamedSpan(names: names)
    }
}

struct NamedSpan: TelemetrySpan {
    let names: AsyncStream<String>.Continuation

    // Runs the handler, as `withSpan` does.
    func within<T: Sendable>(_ handler: @Sendable () async throws -> T) async throws -> T { try await handler() }

    func finish(_ record: TelemetryRecord?) {
        if let record { names.yield("\(record.kind) \(record.name ?? "")") }
    }
}

struct Guest: Decodable {
    let name: String
}

@main
struct Main {
    static func main() async throws {
        let (spans, names) = AsyncStream.makeStream(of: String.self)
        Telemetry.recorder = Recorder(names: names)

        let greeter = Server("greeter", version: "1.0.0")
        try greeter.tool("greet", description: "Greet someone.") { (guest: Guest, _) in "Hello, \(guest.name)!" }
        try await Client.connect(to: greeter).use { client in
            _ = try await client.callTool("greet", ["name": "Ada"])
        }

        var lines: [String] = []
        for await line in spans.prefix(4) { lines.append(line) }
        print(lines.sorted().joined(separator: "\n"))
    }
}
