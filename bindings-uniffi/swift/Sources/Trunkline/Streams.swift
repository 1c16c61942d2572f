/// An open stream: the result of the request that opened it, and requests about it.
final class Stream: Sendable {
    /// The last reference to it closes the connection.
    private let client: ConnectedClient
    private let ticket: UInt64
    let result: JSON

    /// Items that arrived as the task that waited for them was cancelled.
    private let unread = Locked<[JSON]>([])

    private init(_ client: ConnectedClient, _ ticket: UInt64, _ result: JSON) {
        self.client = client
        self.ticket = ticket
        self.result = result
    }

    // Nothing reads it any more.
    deinit { close() }

    static func open(
        _ client: ConnectedClient, _ method: String, _ params: JSONObject, _ options: RequestOptions
    ) async throws -> Stream {
        let (requests, connection) = (Port.shared.requests, client.connection)
        let ticket = try requests.start(connection.handle, method, .object(params), options, causes: connection.server != nil)
        return Stream(client, ticket, try await requests.reply(ticket, options.onProgress))
    }

    @discardableResult
    func request(_ method: String, _ params: JSON? = nil, _ options: RequestOptions? = nil) async throws -> JSON {
        try await Port.shared.requests.send(ticket, method, params, options)
    }

    /// The next item; nil when the stream has ended.
    func next() async throws -> JSON? {
        do {
            let earlier = unread.with { $0.isEmpty ? nil : $0.removeFirst() }
            let item = if let earlier { earlier } else { try await request(WaistMethods.next) }
            guard !Task.isCancelled else {
                unread.with { $0.insert(item, at: 0) }
                throw CancellationError()
            }
            return item == .null ? nil : item
        } catch let error as TrunklineError where error.kind == .closed {
            return nil
        }
    }

    func close() { try? Port.shared.core.cancel(ticket: ticket, reason: "") }
}

/// The items of a stream, in order of arrival. One iteration at a time gets each of them.
public struct Items<Element: Decodable & Sendable>: AsyncSequence, Sendable {
    let stream: Stream
    var onNext: @Sendable (Element) -> Void = { _ in }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let items: Items<Element>

        public mutating func next() async throws -> Element? {
            guard let json = try await items.stream.next() else { return nil }
            let item: Element = try received(json)
            items.onNext(item)
            return item
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(items: self) }
}

/// Changes at a server. It survives reconnects, and ends when it is closed or nothing refers to it.
public final class Subscription: Sendable {
    private let stream: Stream

    /// The part of the filter that the server accepted.
    public let honored: SubscriptionFilter

    init(_ stream: Stream) throws {
        self.stream = stream
        honored = try received(stream.result)
    }

    /// The changes, until the subscription ends.
    public var changes: Items<Change> { Items(stream: stream) }

    /// Ends the subscription.
    public func close() { stream.close() }
}

/// A tool call that runs as a task. Closing it stops polling but doesn't cancel the task.
public final class ClientTask: Sendable {
    private let stream: Stream
    private let latest: Locked<TaskState?>

    init(_ stream: Stream) throws {
        self.stream = stream
        latest = Locked(stream.result == .null ? nil : try received(stream.result))
    }

    /// The latest known state; nil if the server didn't create a task.
    public var state: TaskState? { latest.with { $0 } }

    /// The id of the task; nil if the server didn't create a task.
    public var id: String? { state?.taskID }

    /// The states that follow, until the task ends. States in quick succession may be skipped.
    public var states: Items<TaskState> {
        Items(stream: stream) { [latest] state in latest.with { $0 = state } }
    }

    /// Waits for the task to end, and returns the result of the call.
    public func result(options: RequestOptions = RequestOptions()) async throws -> CallToolResult {
        try received(try await stream.request("result", nil, options))
    }

    /// Answers the `inputRequests` of the current state, by key, with `manualInput` (2026-07-28).
    public func respond(_ responses: [String: JSON]) async throws {
        try await stream.request("respond", .object(JSONObject(responses.map { ($0, $1) })))
    }

    /// Cancels the task. Has no effect once it has ended.
    public func cancel() async throws { try await stream.request("cancel") }

    /// Stops polling.
    public func close() { stream.close() }
}
