/// Notifications for a handler or a reader that may be slow.
final class Backlog: Sendable {
    private static let maxCount = 10_000
    private static let maxBytes = 4 << 20

    /// Ends the stream. Only `add` yields.
    let continuation: AsyncStream<ServerNotification>.Continuation

    /// The bytes that wait.
    private let waiting = Locked(0)

    private init(_ continuation: AsyncStream<ServerNotification>.Continuation) { self.continuation = continuation }

    /// The backlog does not keep its stream, so that dropping the stream ends it.
    static func makeStream() -> (AsyncStream<ServerNotification>, Backlog) {
        let (added, continuation) = AsyncStream.makeStream(of: ServerNotification.self, bufferingPolicy: .bufferingOldest(maxCount))
        let backlog = Backlog(continuation)
        let stream = AsyncStream<ServerNotification>(unfolding: {
            let notification = await added.first { _ in true }
            backlog.waiting.with { $0 -= notification?.bytes ?? 0 }
            return notification
        })
        return (stream, backlog)
    }

    /// Adds a notification, unless too many are waiting.
    func add(_ notification: ServerNotification) {
        let isDropped = waiting.with { waiting in
            // A single one is always kept, because messages have their own limit.
            guard waiting == 0 || waiting + notification.bytes <= Self.maxBytes else { return true }
            switch continuation.yield(notification) {
            case .enqueued: waiting += notification.bytes
            case .dropped: return true
            default: break
            }
            return false
        }
        guard isDropped else { return }
        let message = "dropped a notification: they arrived faster than they were handled"
        Log.write(LogRecord(level: "warn", message: message, target: "trunkline::client"))
    }
}
