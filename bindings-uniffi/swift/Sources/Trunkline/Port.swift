import Foundation
import TrunklineNative

/// No handle, and no ticket.
let none: UInt64 = 0

/// The port of this process, and the thread that drains its queue. `docs/bridge.md` describes the
/// events.
final class Port: Sendable {
    static let shared = Port()

    private struct Tables {
        /// By feature and name. Removed by `Freed`, because admitted calls may still arrive until
        /// then.
        var callables: [UInt64: [String: Callable]] = [:]
        var owners: [UInt64: OpenHandle] = [:]

        /// By the request or exchange that may cause calls, until `Freed`.
        var causes: [UInt64: Cause] = [:]

        /// The receivers of the responses of exchanges, until their end.
        var exchanges: [UInt64: AsyncStream<Event>.Continuation] = [:]
    }

    /// The functions of the core. There is no bell: the thread waits in `drain`.
    let core = TrunklineNative.Port.withoutBell(optionNames: .camel)
    let requests = Requests()
    let spans = Spans()
    let calls = Calls()

    /// Locked while a handle is created, until it is in its table: its first event may arrive
    /// before that.
    private let tables = Locked(Tables())
    private let isRunning = Locked(false)
    private let stopped = DispatchSemaphore(value: 0)

    private static let batchSize: UInt32 = 512
    private static let pollTimeoutMs: UInt32 = 3_600_000
    private static let retryDelaySeconds = 0.1
    private static let exitTimeoutSeconds = 2.0

    private init() {
        let found = version()
        precondition(found == packageVersion, "the native library is version \(found), and this package \(packageVersion)")
        // A write to a peer that has gone fails then, instead of ending the process.
        takeSignal(SIGPIPE)
    }

    /// Registers a server or one of its features, with what answers its calls, by their names.
    func register(_ kind: String, _ description: JSONObject, _ functions: [String: Callable] = [:]) throws -> UInt64 {
        try tables.with { tables in
            let handle = try native { try core.register(kind: kind, json: text(description)) }
            if !functions.isEmpty { tables.callables[handle] = functions }
            return handle
        }
    }

    func unregister(_ handle: UInt64) {
        // The handle may be removed already, by itself or with its server.
        try? core.unregister(handle: handle)
    }

    /// Sends a request, or starts an exchange with what receives its response. The calls in this
    /// process that it leads to inherit the task-local values of the caller.
    func causing(_ response: AsyncStream<Event>.Continuation? = nil, _ send: () throws -> UInt64) throws -> UInt64 {
        let cause = Cause()
        return try tables.with { tables in
            let ticket = try send()
            tables.causes[ticket] = cause
            tables.exchanges[ticket] = response
            return ticket
        }
    }

    /// Opens a listener or a connection. Returns its handle, which is the ticket of its reply.
    func open(_ message: JSONObject, _ owner: OpenHandle) throws -> UInt64 {
        start()
        let open = { [self] (message: JSONObject) throws -> UInt64 in
            try tables.with { tables in
                let handle = try native { try core.open(json: text(message)) }
                tables.owners[handle] = owner
                return handle
            }
        }
        guard let client = message["client"], client["telemetry"] != false else { return try open(message) }
        return try spans.numbering(none, ["method": .string(WaistMethods.open)], message, open)
    }

    /// Forgets a handle that failed to open: no event `Closed` follows.
    func forget(_ handle: UInt64) { _ = tables.with { $0.owners.removeValue(forKey: handle) } }

    func notify(_ target: UInt64, _ message: JSONObject) throws {
        try native { try core.notify(target: target, json: text(message)) }
    }

    func describe(_ target: UInt64) throws -> JSON { try JSON(parsing: try native { try core.describe(target: target) }) }

    /// Starts the thread. What opens does so itself.
    func start() {
        guard !isRunning.exchange(true) else { return }
        atexit { Port.shared.exit() }
        let thread = Thread { [self] in
            drain()
            stopped.signal()
        }
        thread.name = "trunkline"
        thread.start()
    }

    private func drain() {
        while true {
            let events: [Event]
            do {
                events = try core.drain(max: Self.batchSize, waitMs: Self.pollTimeoutMs)
            } catch {
                // Other callers of the process still wait for later events.
                logError("events were lost", error)
                Thread.sleep(forTimeInterval: Self.retryDelaySeconds)
                continue
            }
            for event in events {
                if event.kind == EventKind.stopped { return }
                // The other events must not be lost.
                do { try dispatch(event) } catch { logError("an event failed", error) }
            }
        }
    }

    private func dispatch(_ event: Event) throws {
        switch event.kind {
        case EventKind.call: calls.start(event, callable(event), tables.with { $0.causes[event.cause] })
        case EventKind.cancel: calls.cancel(event.ticket)
        case EventKind.reply: requests.receive(reply: event)
        case EventKind.notification:
            let params = event.body.isEmpty ? JSON.object([:]) : try JSONParser.parse(event.body)
            if event.ticket != none {
                requests.receive(progress: try ValueDecoder.model(params), event.ticket)
            } else {
                let owner = tables.with { $0.owners[event.handle] }
                let bytes = event.name.utf8.count + event.body.count
                owner?.receive(notification: ServerNotification(method: event.name, params: params.object ?? [:], bytes: bytes))
            }
        case EventKind.closed:
            let owner = tables.with { $0.owners.removeValue(forKey: event.handle) }
            owner?.closed(event.ok ? nil : errorOf(event.body))
        case EventKind.httpHead, EventKind.httpChunk: tables.with { $0.exchanges[event.ticket] }?.yield(event)
        case EventKind.httpEnd: tables.with { $0.exchanges.removeValue(forKey: event.ticket) }?.yield(event)
        case EventKind.telemetry: spans.receive(try ValueDecoder.model(try JSONParser.parse(event.body)))
        case EventKind.log: try ValueDecoder.model(JSONParser.parse(event.body), as: [LogRecord].self).forEach(Log.write)
        case EventKind.freed:
            tables.with { tables in
                tables.callables[event.handle] = nil
                tables.causes[event.handle] = nil
            }
        default: break
        }
    }

    private func callable(_ event: Event) -> Callable? {
        let (known, owner) = tables.with { ($0.callables[event.handle]?[event.name], $0.owners[event.handle]) }
        return known ?? owner?.callable(event.name)
    }

    /// Closes the port at the exit of the process, and waits until the thread has received the last
    /// event.
    private func exit() {
        do {
            try core.close(handle: none, deadlineMs: 0)
            _ = stopped.wait(timeout: .now() + Self.exitTimeoutSeconds)
        } catch {
            writeStderr(text: "trunkline could not be closed: \(error)\n")
        }
    }
}

/// A value as JSON, on one line.
func text(_ json: JSON) throws -> String {
    var writer = JSONWriter()
    writer.write(json)
    if let number = writer.infinite { throw TrunklineError(.invalidArgument, "JSON has no \(number)") }
    return String(decoding: writer.bytes, as: UTF8.self)
}

func text(_ object: JSONObject) throws -> String { try text(.object(object)) }

/// The handle or ticket in a message.
func number(_ handle: UInt64) -> JSON { .integer(Int(handle)) }

/// Handles a signal, by default by doing nothing, unless the program handles or ignores it.
@discardableResult
func takeSignal(_ number: Int32, _ handler: @convention(c) (Int32) -> Void = { _ in }) -> Bool {
    var former = sigaction()
    sigaction(number, nil, &former)
    // A child process would inherit `SIG_IGN`, but not a handler.
    if signal(number, handler) == nil { return true }
    sigaction(number, &former, nil)
    return false
}
