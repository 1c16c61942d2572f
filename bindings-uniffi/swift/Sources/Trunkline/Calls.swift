import Foundation
import TrunklineNative

/// The output of a handler: a string is text; content blocks, resource contents and prompt messages
/// are parts of a result; results of the protocol are sent as they are; anything else is JSON.
public typealias Output = any Encodable & Sendable

/// Calls a handler with the body of the call.
typealias Handler = @Sendable (Context, JSON) async throws -> Answer

/// A function of the program that the core calls, with and without a result.
typealias HostFunction = @Sendable (JSONObject) async throws -> JSONObject

/// Answers the calls of a feature, or the requests of a server.
struct Callable: Sendable {
    /// The feature, for errors.
    let name: String
    /// Shared by all features of a server; nil for handlers of a client.
    var owner: Owner?
    /// The name of the tool; nil for other features.
    var tool: String?
    let run: Handler
}

/// Shared by the calls of all features of a server.
struct Owner: Sendable {
    let opened = Opened(nil)
    let onError: (@Sendable (any Error, Context) -> Void)?
}

/// The calls that are running, each as a task.
final class Calls: Sendable {
    /// The tasks of calls until they end; nil for a call that is about to start.
    private let running = Locked<[UInt64: Task<Void, Never>?]>([:])

    /// Runs the handler of a call with the task-local values of what caused it, and sends its
    /// answer.
    func start(_ event: Event, _ callable: Callable?, _ cause: Cause?) {
        guard let callable else {
            fail(event.ticket, failure("tool", "the handler was removed before the call ran"))
            return
        }
        _ = running.with { $0.updateValue(nil, forKey: event.ticket) }
        let start: @Sendable () -> Void = { [self] in
            running.with { tasks in
                // A call that was cancelled meanwhile does not start.
                guard tasks.keys.contains(event.ticket) else { return }
                // Handlers that block all other threads must not keep a lifespan from closing.
                tasks[event.ticket] = Task(priority: event.name == WaistMethods.close ? .high : nil) {
                    await answer(event, callable)
                    _ = running.with { $0.removeValue(forKey: event.ticket) }
                }
            }
        }
        if let cause { cause.run(start) } else { start() }
    }

    /// Cancels the task of a call. The core has already answered it.
    func cancel(_ ticket: UInt64) {
        let task = running.with { tasks -> Task<Void, Never>? in
            guard let task = tasks[ticket] else { return nil }
            if task == nil { tasks.removeValue(forKey: ticket) }
            return task
        }
        task?.cancel()
    }

    /// True if handlers have not ended.
    var areRunning: Bool { running.with { !$0.isEmpty } }

    private func answer(_ event: Event, _ callable: Callable) async {
        let context = Context(event.ticket, callable.owner)
        do {
            let body = try JSONParser.parse(event.body)
            let answer = try await Port.shared.spans.serve(event.ticket) {
                try await Context.$running.withValue(context) { try await callable.run(context, body) }
            }
            context.close()
            let isTaken = try native { try Port.shared.core.complete(ticket: event.ticket, shape: answer.shape, body: answer.body) }
            if !isTaken { await answer.ifLate?() }
        } catch {
            context.close()
            // Also if it has ended in the core.
            guard context.isWaitedFor else { return }
            fail(event.ticket, described(error, callable, context))
        }
    }

    /// The message for the core. Callers get a generic one instead of an internal error, which is
    /// logged.
    private func described(_ error: any Error, _ callable: Callable, _ context: Context) -> JSONObject {
        var failure = failureOf(error)
        if failure["kind"] == "internal", !(error is Suspended) {
            let target = callable.owner == nil ? "trunkline::client" : "trunkline::server"
            logError("\(callable.name) failed", error, target, of: callable)
            callable.owner?.onError?(error, context)
            failure["logged"] = true
        }
        return failure
    }

    private func fail(_ ticket: UInt64, _ message: JSONObject) {
        let core = Port.shared.core
        do {
            _ = try native { try core.fail(ticket: ticket, json: text(message)) }
        } catch {
            // Its data cannot be sent.
            _ = try? core.fail(ticket: ticket, json: text(failure("internal", describe(error))))
        }
    }
}

/// The cause of calls in this process. They inherit the task-local values of the task that made it.
final class Cause: Sendable {
    private let starts: AsyncStream<@Sendable () -> Void>.Continuation

    init() {
        let (stream, starts) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
        self.starts = starts
        // Tasks inherit from the one that creates them.
        Task { for await start in stream { start() } }
    }

    /// Starts a task.
    func run(_ start: @escaping @Sendable () -> Void) { starts.yield(start) }

    deinit { starts.finish() }
}
