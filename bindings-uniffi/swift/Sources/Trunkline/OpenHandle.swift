/// The common part of listeners and connections: they open, and close once.
class OpenHandle: HandleOwner, @unchecked Sendable {
    /// The server that a listener or a connection in memory uses. Its lifespan is open for as long.
    let server: Server?
    private let state = Locked(State())

    private struct State {
        var handle = none
        /// Closed before it opened, by a signal.
        var isClosing = false
        var end: Result<Void, any Error>?
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var waits = 0
        var atEnd: [@Sendable () -> Void] = []
    }

    init(_ server: Server?) { self.server = server }

    var handle: UInt64 { state.with { $0.handle } }
    var isOpen: Bool { state.with { $0.handle != none && $0.end == nil } }

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
        let id = state.with { state in
            state.waits += 1
            return state.waits
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiting: CheckedContinuation<Void, any Error>) in
                let end = state.with { state -> Result<Void, any Error>? in
                    if state.end == nil, isCancellable, Task.isCancelled { return .failure(CancellationError()) }
                    if state.end == nil { state.waiting[id] = waiting }
                    return state.end
                }
                if let end { waiting.resume(with: end) }
            }
        } onCancel: {
            guard isCancellable else { return }
            state.with { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
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
        let end: Result<Void, any Error> = error.map(Result.failure) ?? .success(())
        let (waiting, atEnd) = state.with { state in
            defer {
                state.waiting = [:]
                state.atEnd = []
            }
            if state.end == nil { state.end = end }
            return (state.waiting.values, state.atEnd)
        }
        for one in atEnd { one() }
        for one in waiting { one.resume(with: end) }
    }
}
