import TrunklineNative

/// A record of the library's log.
public struct LogRecord: Codable, Sendable {
    /// `error`, `warn`, `info` or `debug`.
    public let level: String
    /// The message with the fields, for people, on one or more lines.
    public let message: String
    /// The subject, such as `trunkline::server::http`.
    public let target: String
    /// The message without the fields, for loggers that have some.
    public let event: String
    /// The fields, such as `tool`, `method`, `server` and `error`.
    public let fields: JSONObject

    init(level: String, message: String, target: String, event: String? = nil, fields: JSONObject = [:]) {
        (self.level, self.message, self.target) = (level, message, target)
        (self.event, self.fields) = (event ?? message, fields)
    }
}

/// The library's log. By default, warnings and errors go to standard error.
public enum Log {
    private static let logger = Locked<(@Sendable (LogRecord) -> Void)?>(nil)
    private static let maxRecords = 1024

    /// Records for a logger of the program, in order. If it is too slow, the oldest are dropped.
    private static let queue: AsyncStream<LogRecord>.Continuation = {
        let (records, queue) = AsyncStream.makeStream(of: LogRecord.self, bufferingPolicy: .bufferingNewest(maxRecords))
        Task.detached { for await record in records { (logger.with { $0 } ?? toStandardError)(record) } }
        return queue
    }()

    /// Receives the records of the library's log.
    public static func receive(_ receiver: @escaping @Sendable (LogRecord) -> Void) { logger.with { $0 = receiver } }

    static func write(_ record: LogRecord) {
        if logger.with({ $0 == nil }) { toStandardError(record) } else { queue.yield(record) }
    }

    private static func toStandardError(_ record: LogRecord) {
        guard ["error", "warn"].contains(record.level) else { return }
        writeStderr(text: "[\(record.target)] \(record.level): \(record.message)\n")
    }
}

func logError(_ message: String, _ error: any Error, _ target: String = "trunkline", of callable: Callable? = nil) {
    let reason = describe(error)
    var (event, fields): (String, JSONObject) = (message, [:])
    // As the core logs failures.
    if let tool = callable?.tool {
        (event, fields) = ("a tool failed", ["tool": .string(tool)])
    } else if let callable {
        (event, fields) = ("a handler failed", ["feature": .string(callable.name)])
    }
    fields["error"] = .string(reason)
    Log.write(LogRecord(level: "error", message: "\(message): \(reason)", target: target, event: event, fields: fields))
}
