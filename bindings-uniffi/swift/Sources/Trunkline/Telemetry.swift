/// Turns requests into spans, and their durations into metrics, of a library such as
/// swift-distributed-tracing. Its functions must not block: some run on the thread of all events.
public protocol TelemetryRecorder: Sendable {
    /// Starts a span. If the program is about to send the message (`kind` is `client`), `carrier`
    /// takes its trace context: `traceparent`, `tracestate` and `baggage`. If it serves the message
    /// (`server`), the `context` of the record is that of the sender.
    func start(_ record: TelemetryRecord, carrier: inout [String: String]) -> any TelemetrySpan

    /// Adds a value to a histogram: the member `metric` of a record.
    func measure(_ metric: JSONObject)
}

extension TelemetryRecorder {
    public func measure(_ metric: JSONObject) {}

    fileprivate func begin(_ record: TelemetryRecord) -> (span: any TelemetrySpan, trace: JSON) {
        var carrier: [String: String] = [:]
        let span = start(record, carrier: &carrier)
        return (span, .object(JSONObject(carrier.map { ($0, .string($1)) })))
    }
}

/// A span that a ``TelemetryRecorder`` has started.
public protocol TelemetrySpan: Sendable {
    /// Runs the handler of a request within the span.
    func within<T: Sendable>(_ handler: @Sendable () async throws -> T) async throws -> T

    /// Ends the span, with the record of the end; nil if the message was not sent.
    func finish(_ record: TelemetryRecord?)
}

/// Spans and metrics of requests.
public enum Telemetry {
    private static let current = Locked<(any TelemetryRecorder)?>(nil)

    /// Receives the requests of all servers and clients whose option `telemetry` is not false. Set
    /// it before clients connect.
    public static var recorder: (any TelemetryRecorder)? {
        get { current.with { $0 } }
        set {
            current.with { $0 = newValue }
            // `notify` fails only at the end of the process.
            if newValue != nil { try? Port.shared.notify(none, ["telemetry": true]) }
        }
    }

    /// The load of this process's servers: objects with `name`, `description`, `unit`, `monotonic`
    /// and `value`. Empty without servers that report.
    public static func measurements() throws -> [JSONObject] {
        let json = try native { try Port.shared.core.measurements() }
        return try json.map(JSON.init(parsing:))?["measurements"]?.array?.compactMap(\.object) ?? []
    }
}

/// The spans of a port.
final class Spans: Sendable {
    /// The spans of openings, notifications, and requests that have reached a handler.
    private let numbered = Locked<[Int: any TelemetrySpan]>([:])

    /// The spans of requests that were sent, by ticket.
    private let sent = Locked<[UInt64: any TelemetrySpan]>([:])

    /// Runs a handler within the span of its request.
    func serve<T: Sendable>(_ ticket: UInt64, _ handler: @Sendable () async throws -> T) async throws -> T {
        guard let recorder = Telemetry.recorder else { return try await handler() }
        // Locked, so that the request does not end in between.
        let span = numbered.with { spans -> (any TelemetrySpan)? in
            guard let record = record(ticket) else { return nil }
            let span = spans[record.number] ?? recorder.begin(record).span
            spans[record.number] = span
            return span
        }
        guard let span else { return try await handler() }
        // A handler that will run again has not failed.
        let outcome: Result<T, Suspended> = try await span.within {
            do { return .success(try await handler()) } catch let suspended as Suspended { return .failure(suspended) }
        }
        return try outcome.get()
    }

    /// Sends a request within its span, until `replied`. Returns its ticket.
    func sending(_ target: UInt64, _ message: JSONObject, _ send: (JSONObject) throws -> UInt64) throws -> UInt64 {
        guard let (_, span, trace) = begun(target, message) else { return try send(message) }
        do {
            let ticket = try send(message.merging(["trace": trace]))
            sent.with { $0[ticket] = span }
            return ticket
        } catch {
            span.finish(nil)
            throw error
        }
    }

    /// Ends the span of a request that was sent.
    func replied(_ ticket: UInt64) {
        guard let span = sent.with({ $0.removeValue(forKey: ticket) }) else { return }
        let record = record(ticket)
        span.finish(record)
        if let metric = record?.metric { Telemetry.recorder?.measure(metric) }
    }

    /// Sends a message that opens a connection or is a notification, whose span ends with an event.
    func numbering<T>(
        _ target: UInt64, _ described: JSONObject, _ message: JSONObject, _ send: (JSONObject) throws -> T
    ) throws -> T {
        guard let (number, span, trace) = begun(target, described) else { return try send(message) }
        numbered.with { $0[number] = span }
        do {
            return try send(message.merging(["span": ["number": .integer(number), "trace": trace]]))
        } catch {
            numbered.with { $0.removeValue(forKey: number) }?.finish(nil)
            throw error
        }
    }

    /// Ends the spans that the core reports.
    func receive(_ records: [TelemetryRecord]) {
        let recorder = Telemetry.recorder
        for record in records {
            var span = numbered.with { $0.removeValue(forKey: record.number) }
            // The core has answered the request itself, or has reconnected. The end of a session
            // has no name.
            if span == nil, record.name != nil { span = recorder?.begin(record).span }
            span?.finish(record)
            if let metric = record.metric { recorder?.measure(metric) }
        }
    }

    private func begun(_ target: UInt64, _ message: JSONObject) -> (number: Int, span: any TelemetrySpan, trace: JSON)? {
        guard let recorder = Telemetry.recorder, let record = record(target, message) else { return nil }
        let (span, trace) = recorder.begin(record)
        return (record.number, span, trace)
    }

    /// The record of a message that is about to be sent or of what has a ticket; nil if it is not
    /// observed, or over.
    private func record(_ target: UInt64, _ message: JSONObject? = nil) -> TelemetryRecord? {
        guard let json = try? Port.shared.core.telemetry(target: target, request: message.map(text)) else { return nil }
        return try? ValueDecoder.model(try JSON(parsing: json))
    }
}
