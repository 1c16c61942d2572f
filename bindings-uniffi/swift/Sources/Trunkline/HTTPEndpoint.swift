import Foundation
import TrunklineNative

/// A server in the program's own web server: pass the requests of a path to ``handle(_:body:)``. It
/// opens with the first request, and again after ``close(deadline:)``.
public final class HTTPEndpoint: Sendable {
    /// A listener, and the task that opens it.
    typealias Opening = (listener: OpenHandle, task: Task<Void, any Error>)

    private let open: @Sendable () -> Opening
    private let latest = Locked<Opening?>(nil)

    init(_ open: @escaping @Sendable () -> Opening) { self.open = open }

    /// Handles a request: returns the response as soon as its headers are known. The calls that the
    /// request leads to inherit the task-local values. If the task is cancelled, so is the request.
    ///
    /// - Parameter body: The body, in chunks of bytes. Its iteration is cancelled if the response
    ///   comes before its end, as that of a refusal does.
    public func handle<Chunks: AsyncSequence>(
        _ request: Request, body: Chunks
    ) async throws -> Response where Chunks.Element: Sequence<UInt8> {
        let exchange = try Body(try await listening().handle, request)
        // Only the first task below uses it.
        nonisolated(unsafe) let body = body
        return try await withThrowingTaskGroup(of: Response?.self) { group in
            group.addTask {
                try await exchange.pass(body)
                return nil
            }
            group.addTask { try await exchange.response() }
            for try await response in group {
                guard let response else { continue }
                // A refusal comes before the end of the body.
                group.cancelAll()
                return response
            }
            throw CancellationError()
        }
    }

    /// Handles a request whose body has arrived.
    public func handle(_ request: Request, body: Data = Data()) async throws -> Response {
        let (chunks, received) = AsyncStream.makeStream(of: Data.self)
        received.yield(body)
        received.finish()
        return try await handle(request, body: chunks)
    }

    /// Serves in the foreground, until SIGINT or SIGTERM arrives or the task is cancelled: it then
    /// closes, and calls in flight may complete within `drainDeadline` of the server. A second
    /// signal ends the process at once.
    public func run() async throws {
        let (closed, closing) = AsyncStream.makeStream(of: Void.self)
        // Waiting for it does not end with the task that waits.
        let end = Task { for await _ in closed {} }
        try await endedBySignals({ [self] in
            defer { closing.finish() }
            try await close()
        }) { _ in await end.value }
    }

    /// Closes it. Requests in flight get `deadline` (by default, all but the last fifth of the
    /// server's `drainDeadline`).
    public func close(deadline: Duration? = nil) async throws { try await latest.with { $0 }?.listener.close(deadline) }

    private func listening() async throws -> OpenHandle {
        let opening = latest.with { latest in
            if let latest, !latest.listener.isEnded { return latest }
            let opening = open()
            latest = opening
            return opening
        }
        try await opening.task.value
        return opening.listener
    }
}

// Nested, because libraries for HTTP have types with the names `HTTPRequest` and `HTTPBody`.
extension HTTPEndpoint {
    /// A request that the web server passes on.
    public struct Request: Sendable {
        /// The method, such as `POST`.
        public var method: String
        /// The path as received, percent-encoded.
        public var path: String
        /// The query as received, without its question mark.
        public var query: String?
        /// The names and values of the headers. A name may occur more than once.
        public var headers: [(name: String, value: String)]
        /// The IP address of the peer.
        public var remoteAddress: String?

        public init(
            method: String, path: String, query: String? = nil, headers: [(name: String, value: String)], remoteAddress: String? = nil
        ) {
            self.method = method
            self.path = path
            self.query = query
            self.headers = headers
            self.remoteAddress = remoteAddress
        }
    }

    /// The response to a ``Request``.
    public struct Response: Sendable {
        /// The status, such as 200.
        public let status: Int
        /// The names and values of the headers. A name may occur more than once.
        public let headers: [(name: String, value: String)]
        /// True if there is no body.
        public let isEmpty: Bool
        /// The body.
        public let body: Body
    }

    /// The body of a response, in chunks. Each chunk is passed on once. Streams end with their call
    /// or subscription.
    ///
    /// The last reference to it cancels the request if the response has not ended. If the iteration
    /// throws, the response is truncated: drop the connection then, so that the client notices.
    public final class Body: AsyncSequence, Sendable {
        public typealias Element = Data

        private let events: AsyncStream<Event>
        fileprivate let ticket: UInt64
        private let hasEnded = Locked(false)

        fileprivate init(_ listener: UInt64, _ request: Request) throws {
            // The credit that the core gets for each chunk bounds what is waiting here.
            let (events, received) = AsyncStream.makeStream(of: Event.self)
            let headers = request.headers.map { [bytewise($0.name), bytewise($0.value)] }
            let head = try parameters([
                ("method", request.method), ("path", request.path), ("query", request.query), ("headers", headers),
                ("remoteAddress", request.remoteAddress),
            ])
            self.events = events
            ticket = try Port.shared.causing(received) {
                try native { try Port.shared.core.httpRequest(listener: listener, head: text(head), end: false) }
            }
        }

        deinit { close() }

        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let body: Body

            public mutating func next() async throws -> Data? { try await body.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

        /// Cancels the request if the response has not ended. Call this when the client has
        /// disconnected.
        public func close() {
            guard !hasEnded.with({ $0 }) else { return }
            // The request may have ended meanwhile.
            try? Port.shared.core.cancel(ticket: ticket, reason: "the client has disconnected")
        }

        /// Passes on the body of the request.
        fileprivate func pass<Chunks: AsyncSequence>(_ chunks: Chunks) async throws where Chunks.Element: Sequence<UInt8> {
            let core = Port.shared.core
            for try await chunk in chunks {
                // The rest of a body that is too long is not read.
                guard try native({ try core.httpBody(exchange: ticket, bytes: Data(chunk), end: false) }) else { break }
            }
            // Otherwise what has arrived would be taken for all of it.
            try Task.checkCancellation()
            _ = try native { try core.httpBody(exchange: ticket, bytes: Data(), end: true) }
        }

        fileprivate func response() async throws -> Response {
            guard let event = try await received() else { throw TrunklineError(.closed, "the server was closed") }
            let head: Head = try ValueDecoder.model(try JSONParser.parse(event.body))
            return Response(status: head.status, headers: head.headers.map { ($0[0], $0[1]) }, isEmpty: head.empty ?? false, body: self)
        }

        private func next() async throws -> Data? {
            guard let event = try await received() else { return nil }
            try native { try Port.shared.core.httpCredit(exchange: ticket, bytes: UInt64(event.body.count)) }
            return event.body
        }

        /// The next event; nil after the last one.
        private func received() async throws -> Event? {
            guard !hasEnded.with({ $0 }) else { return nil }
            var events = events.makeAsyncIterator()
            guard let event = await events.next() else {
                // The task was cancelled. The response must not look complete.
                close()
                throw CancellationError()
            }
            guard event.kind == EventKind.httpEnd else { return event }
            hasEnded.with { $0 = true }
            guard event.ok else { throw errorOf(event.body) }
            return nil
        }
    }
}

/// The head of a response.
private struct Head: Decodable {
    let status: Int
    let headers: [[String]]
    let empty: Bool?
}

/// A header as the core has it: with one character per byte.
private func bytewise(_ text: String) -> String { String(String.UnicodeScalarView(text.utf8.map { Unicode.Scalar($0) })) }
