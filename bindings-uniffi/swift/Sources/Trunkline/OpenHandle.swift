/// The common part of listeners and connections: they open, and close once.
class OpenHandle: HandleOwner, @unchecked Sendable {
    /// The server that a listener or a connection in memory uses. Its lifespan is open for as long.
    let server: Server?
    private let state = Locked(State())

    /// Ends with this and the lifespan.
    private let completion: Task<Void, any Error>
    private let ending: AsyncThrowingStream<Void, any Error>.Continuation

    private struct State {
        var handle = none
        /// Closed before it opened, by a signal.
        var isClosing = false
        var isEnded = false
        var atEnd: [@Sendable () -> Void] = []
    }

    init(_ server: Server?) {
        self.server = server
        let (stream, ending) = AsyncThrowingStream.makeStream(of: Void.self)
        self.ending = ending
        completion = Task.detached { for try await _ in stream {} }
    }

    var handle: UInt64 { state.with { $0.handle } }
    var isOpen: Bool { state.with { $0.handle != none && !$0.isEnded } }

    /// The handle whose options have the deadline of a close.
    var optionsOf: UInt64 { (try? server?.handle()) ?? handle }

    /// Opens it, and returns the result. If the task is cancelled meanwhile, it is closed.
    func open(_ message: () throws -> JSONObject) async throws -> JSON {
        let closedEarly = TrunklineError(.closed, "it was closed before it opened")
        let opening: UInt64
        let isClosing: Bool
        do {
            try await server?.enter(self)
            if state.with({ $0.isClosing }) { throw closedEarly }
            opening = try Port.shared.open(message(), self)
            isClosing = state.with { state in
                state.handle = opening
                return state.isClosing
            }
        } catch {
            closed(nil)
            throw error
        }
        let close: @Sendable () -> Void = { try? Port.shared.core.close(handle: opening, deadlineMs: 0) }
        do {
            // Closed since the check above, when there was no handle to close yet.
            if isClosing { close() }
            let reply = try await Port.shared.requests.reply(opening, cancel: close)
            if isClosing { throw closedEarly }
            return reply
        } catch {
            // It gets no event `Closed`, or does not need it.
            Port.shared.forget(opening)
            closed(error)
            throw error
        }
    }

    /// Closes it, and waits for its end. By default, calls in flight have the time that the options leave
    /// them.
    func close(_ deadline: Duration? = nil) async throws {
        state.with { $0.isClosing = true }
        if isOpen {
            let core = Port.shared.core
            let milliseconds = try deadline.map { UInt64(try $0.wholeMilliseconds()) }
            try native { try core.close(handle: handle, deadlineMs: milliseconds ?? core.closeDeadlineMs(handle: optionsOf)) }
        }
        if handle != none { try? await end(isCancellable: false) }
    }

    /// Waits until this and the lifespan have closed. Throws the error that closed it, if any.
    func end(isCancellable: Bool = true) async throws {
        guard isCancellable else { return try await completion.value }
        // Waiting for a task does not end with the task that waits, but iterating does.
        let (stream, ending) = AsyncStream.makeStream(of: Void.self)
        Task { [completion] in
            _ = await completion.result
            ending.finish()
        }
        for await _ in stream {}
        if state.with({ !$0.isEnded }) { throw CancellationError() }
        try await completion.value
    }

    func atEnd(_ work: @escaping @Sendable () -> Void) { state.with { $0.atEnd.append(work) } }

    func receive(notification: ServerNotification) {}
    func callable(_ operation: String) -> Callable? { nil }

    func closed(_ error: (any Error)?) {
        guard let server else { return ended(error) }
        // Not on the thread of the port: closing the lifespan takes as long as the program does.
        Task {
            await server.leave(self)
            ended(error)
        }
    }

    private func ended(_ error: (any Error)?) {
        let atEnd = state.with { state in
            defer { state.atEnd = [] }
            state.isEnded = true
            return state.atEnd
        }
        for one in atEnd { one() }
        ending.finish(throwing: error)
    }
}
