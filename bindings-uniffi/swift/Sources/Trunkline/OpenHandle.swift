import Foundation

/// The common part of listeners and connections: they open, and close once.
class OpenHandle: @unchecked Sendable {
    /// The server that a listener or a connection in memory uses.
    let server: Server?
    private let state = Locked(State())

    /// The functions to run when this ends.
    private let whenEnded = Locked<[@Sendable () -> Void]>([])

    /// Ends with this.
    private let completion: Task<Void, any Error>
    private let ending: AsyncThrowingStream<Void, any Error>.Continuation

    private struct State {
        var handle = none
        /// Closed before it opened, by a signal.
        var isClosing = false
        var isEnded = false
        /// The waiters for its end whose tasks may be cancelled.
        var waiting: [UUID: AsyncStream<Void>.Continuation] = [:]
    }

    init(_ server: Server?) {
        self.server = server
        let (stream, ending) = AsyncThrowingStream.makeStream(of: Void.self)
        self.ending = ending
        completion = Task.detached { for try await _ in stream {} }
    }

    var handle: UInt64 { state.with { $0.handle } }
    var isOpen: Bool { state.with { $0.handle != none && !$0.isEnded } }
    var isEnded: Bool { state.with { $0.isEnded } }

    /// The handle whose options have the deadline of a close.
    var optionsOf: UInt64 { (try? server?.handle()) ?? handle }

    /// Opens it, and returns the result. If the task is cancelled meanwhile, it is closed.
    func open(_ message: () throws -> JSONObject) async throws -> JSON {
        let isClosing: Bool
        let reply: JSON
        server?.opens(self)
        do {
            let opening = try Port.shared.open(message(), self)
            isClosing = state.with { state in
                state.handle = opening
                return state.isClosing
            }
            let close: @Sendable () -> Void = { try? Port.shared.core.close(handle: opening, deadlineMs: 0) }
            // Closed when there was no handle to close yet.
            if isClosing { close() }
            reply = try await Port.shared.requests.reply(opening, cancel: close)
        } catch {
            // A failed opening gets no event `Closed`.
            Port.shared.forget(handle)
            closed(error)
            if let error = error as? TrunklineError, error.kind == .transport { throw server?.openingFailure() ?? error }
            throw error
        }
        if isClosing { throw TrunklineError(.closed, "it was closed before it opened") }
        return reply
    }

    /// Closes it, and waits for its end. By default, calls in flight have the time that the options
    /// leave them.
    func close(_ deadline: Duration? = nil) async throws {
        state.with { $0.isClosing = true }
        if isOpen {
            let core = Port.shared.core
            let milliseconds = try deadline.map { UInt64(try $0.wholeMilliseconds()) }
            try native { try core.close(handle: handle, deadlineMs: milliseconds ?? core.closeDeadlineMs(handle: optionsOf)) }
        }
        if handle != none { try? await end(isCancellable: false) }
    }

    /// Waits until this has closed. Throws the error that closed it, if any.
    func end(isCancellable: Bool = true) async throws {
        guard isCancellable else { return try await completion.value }
        // Waiting for a task does not end with the task that waits, but iterating does.
        let (stream, waiting) = AsyncStream.makeStream(of: Void.self)
        let id = UUID()
        state.with { state in if state.isEnded { waiting.finish() } else { state.waiting[id] = waiting } }
        for await _ in stream {}
        if state.with({ $0.waiting.removeValue(forKey: id) }) != nil { throw CancellationError() }
        try await completion.value
    }

    func atEnd(_ work: @escaping @Sendable () -> Void) { whenEnded.with { $0.append(work) } }

    func receive(notification: ServerNotification) {}

    /// The handler of a request of the server.
    func callable(_ operation: String) -> Callable? { nil }

    func closed(_ error: (any Error)?) {
        server?.closed(self)
        let waiting = state.with { state in
            state.isEnded = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for waiting in waiting { waiting.finish() }
        for work in whenEnded.exchange([]) { work() }
        ending.finish(throwing: error)
    }
}
