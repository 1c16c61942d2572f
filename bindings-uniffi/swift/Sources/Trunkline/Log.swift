import TrunklineNative

/// A record of the library's log.
public struct LogRecord: Codable, Sendable {
    /// `error`, `warn`, `info` or `debug`.
    public let level: String
    /// The message, on one or more lines.
    public let message: String
    /// The subject, such as `trunkline::server::http`.
    public let target: String
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

func logError(_ message: String, _ error: any Error, _ target: String = "trunkline") {
    Log.write(LogRecord(level: "error", message: "\(message): \(describe(error))", target: target))
}
