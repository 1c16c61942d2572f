/// A server that is listening.
public final class Listener: Sendable {
    private let handle: OpenHandle

    /// The URL of the endpoint; empty on descriptors.
    public let url: String
    /// The address; empty on a Unix socket and on descriptors.
    public let host: String
    /// The port; 0 on a Unix socket and on descriptors.
    public let port: Int

    init(_ handle: OpenHandle, _ bound: JSON) {
        self.handle = handle
        url = bound["url"]?.string ?? ""
        host = bound["host"]?.string ?? ""
        port = bound["port"]?.integer ?? 0
    }

    /// Stops listening. Calls in flight get `deadline` (by default, all but the last fifth of the
    /// server's `drainDeadline`) and are then cancelled.
    public func close(deadline: Duration? = nil) async throws { try await handle.close(deadline) }

    /// Waits until it has closed. Throws the error that closed it, if any.
    public func join() async throws { try await handle.end() }

    /// Serves in the foreground, until it has closed. SIGINT, SIGTERM and the cancellation of the
    /// task close it; calls in flight may complete within `drainDeadline` of the server. A second
    /// signal ends the process at once.
    public func run() async throws {
        try await endedBySignals({ [handle] in try await handle.close() }) { try await serve(handlesSignals: $0) }
    }

    /// Serves in the foreground. If signals are handled, the core ends it even if handlers block.
    func serve(handlesSignals: Bool) async throws {
        if handlesSignals { try Port.shared.notify(handle.handle, ["foreground": true]) }
        try await handle.endInForeground()
    }
}
