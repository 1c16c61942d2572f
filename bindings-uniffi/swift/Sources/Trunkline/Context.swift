/// The user's decision about a form.
public enum Elicited<Form> {
    /// The user filled in the form.
    case accept(Form)
    /// The user declined.
    case decline
    /// The user dismissed the form without a decision.
    case cancel

    /// The form, if the user filled it in.
    public var content: Form? { if case .accept(let form) = self { form } else { nil } }
}

extension Elicited: Sendable where Form: Sendable {}
extension Elicited: Equatable where Form: Equatable {}

/// The call that a handler answers, and messages to its client. If the caller cancels the call, the
/// handler's task is cancelled.
public final class Context: Sendable {
    /// The context of the call that this task answers; nil outside of handlers.
    public static var current: Context? { running }

    @TaskLocal static var running: Context?

    let ticket: UInt64
    private let owner: Owner?

    private struct State {
        /// False once the call is answered.
        var isOpen = true
        var facts: (json: JSON, described: CallDescription)?
        /// The values of `once`, by name.
        var done: [String: Task<JSON, any Error>] = [:]
        /// Messages of progress and logs that the handler has sent.
        var sent = 0
    }

    private let memory = Locked(State())
    private static let messagesInARow = 16

    init(_ ticket: UInt64, _ owner: Owner?) {
        self.ticket = ticket
        self.owner = owner
    }

    /// The value that the server's ``Lifespan`` opened.
    public func lifespan<Value: Sendable>(_ type: Value.Type = Value.self) throws -> Value {
        guard let value = try? owner?.opened.with({ $0 })?.result.get() as? Value else {
            throw TrunklineError(.invalidArgument, "the lifespan of the server has opened no \(type)")
        }
        return value
    }

    /// Reports progress if the caller requested it. Values that don't increase are dropped.
    public func progress(_ progress: Double, total: Double? = nil, message: String? = nil) async throws {
        try tell(parameters([("progress", progress), ("total", total), ("message", message)]))
        await giveWay()
    }

    /// Sends a log message to the client, if it accepts messages of that level.
    @available(*, deprecated, message: "since 2026-07-28, log to standard error or through OpenTelemetry instead")
    public func log(_ level: LoggingLevel, _ data: JSON, logger: String? = nil) async throws {
        try tell(["log": .object(parameters([("level", level), ("data", data), ("logger", logger)]))])
        await giveWay()
    }

    /// Sends a log message of the level `info`.
    @available(*, deprecated, message: "since 2026-07-28, log to standard error or through OpenTelemetry instead")
    public func info(_ message: String) async throws { try await log(.info, .string(message)) }

    /// Sends a log message of the level `error`.
    @available(*, deprecated, message: "since 2026-07-28, log to standard error or through OpenTelemetry instead")
    public func error(_ message: String) async throws { try await log(.error, .string(message)) }

    /// Runs `work` once per request, even if the handler is rerun. Later runs get its value.
    public func once<T: Codable & Sendable>(_ name: String, _ work: @escaping @Sendable () async throws -> T) async throws -> T {
        let known = facts.json["once"]?[name]
        while true {
            let task = memory.with { state in
                let task =
                    state.done[name]
                    ?? Task { [self] in
                        if let known { return known }
                        let value = try written(try await work(), "the value of \(name)")
                        try send(["once": ["name": .string(name), "value": value]])
                        return value
                    }
                state.done[name] = task
                return task
            }
            do {
                return try await withTaskCancellationHandler {
                    try await task.value.decoded()
                } onCancel: {
                    task.cancel()
                }
            } catch {
                // Unless another caller has already started the work again.
                memory.with { state in if state.done[name] == task { state.done[name] = nil } }
                // Another caller was cancelled, and not this one.
                guard error is CancellationError, task.isCancelled, !Task.isCancelled else { throw error }
            }
        }
    }

    /// Turns this call into a task, if the tool has `deferTask` and the client supports tasks.
    public func startTask() throws { try tell(["startTask": true]) }

    /// Sets the status message of the task. Has no effect if the call is not a task.
    public func setTaskMessage(_ text: String) throws { try tell(["taskMessage": .string(text)]) }

    /// Closes the stream that the client waits on, if it can reconnect for the result.
    public func closeStream() throws { try tell(["closeStream": true]) }

    /// Asks the client's user to fill in the members of a structure.
    public func elicit<Form: Decodable>(
        _ message: String, as type: Form.Type, options: RequestOptions = RequestOptions()
    ) async throws -> Elicited<Form> {
        let schema: FormSchema = try ValueDecoder.model(.object(try Schemas.of(type)))
        let result = try await elicit(message, requestedSchema: schema, options: options)
        switch result.action {
        case .accept: return .accept(try JSON.object(result.content ?? [:]).decoded())
        case .decline: return .decline
        default: return .cancel
        }
    }

    var described: CallDescription { facts.described }

    /// Nothing is known about a call that has ended.
    private var facts: (json: JSON, described: CallDescription) {
        if let known = memory.with({ $0.facts }) { return known }
        let json = (try? Port.shared.describe(ticket)) ?? [:]
        let found = (json, (try? ValueDecoder.model(json)) ?? CallDescription())
        memory.with { $0.facts = found }
        return found
    }

    func request(_ method: String, _ params: JSONObject, _ options: RequestOptions) async throws -> JSON {
        try await Port.shared.requests.send(ticket, method, params.isEmpty ? nil : .object(params), options)
    }

    /// Runs the rest of a request, for middleware.
    func proceed(_ params: JSONObject?) async throws -> JSONObject {
        try await Port.shared.requests.send(ticket, WaistMethods.next, params.map(JSON.object), causes: true).object ?? [:]
    }

    /// False if the core no longer waits for the answer.
    var isWaitedFor: Bool { (try? Port.shared.core.cancelled(ticket: ticket)) == false }

    func close() { memory.with { $0.isOpen = false } }

    /// Lets other tasks run: there are few threads, and a flood of messages would keep one.
    private func giveWay() async {
        memory.with { $0.sent += 1 }
        if memory.with({ $0.sent }) % Self.messagesInARow == 0 { await Task.yield() }
    }

    private func tell(_ message: JSONObject) throws { if memory.with({ $0.isOpen }) { try send(message) } }

    private func send(_ message: JSONObject) throws {
        do {
            try Port.shared.notify(ticket, message)
        } catch {
            // The call may have ended in the core before this task is cancelled.
            if isWaitedFor { throw error }
        }
    }
}
