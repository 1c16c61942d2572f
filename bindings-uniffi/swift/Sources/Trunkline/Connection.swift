/// A notification from a server.
public struct ServerNotification: Sendable {
    /// The method, such as `notifications/message`.
    public let method: String
    /// The parameters; empty if there are none.
    public let params: JSONObject
    /// The size of its name and body in the message.
    let bytes: Int
}

/// The connection of a client, with the handlers of its server's requests and notifications.
final class Connection: OpenHandle, @unchecked Sendable {
    private let functions: [String: HostFunction]
    private let handlers: ClientHandlers

    /// In order, and not on the thread of the port, because a handler may take its time.
    private let received: Backlog

    /// Nil once the connection has ended. Finishing a reader takes the lock: it removes itself.
    private let readers = Locked<[Int: Backlog]?>([:])

    /// The last known description of the server.
    private let known = Locked<ConnectionDescription?>(nil)

    /// The deadline of a close is an option of the client.
    override var optionsOf: UInt64 { handle }

    init(_ server: Server?, _ handlers: ClientHandlers, _ functions: [String: HostFunction]) {
        self.handlers = handlers
        self.functions = functions.merging(handlers.requestHandlers) { own, _ in own }
        let (notifications, received) = Backlog.makeStream()
        self.received = received
        super.init(server)
        let notified = handlers.notificationHandlers
        Task { [readers] in
            for await notification in notifications {
                do {
                    try await notified[notification.method]?(.object(notification.params))
                } catch {
                    logError("the handler of \(notification.method) failed", error, "trunkline::client")
                }
                for reader in readers.with({ $0 ?? [:] }).values { reader.add(notification) }
            }
            for reader in (readers.exchange(nil) ?? [:]).values { reader.continuation.finish() }
        }
    }

    /// Connects, and returns the connection.
    static func open(
        _ transport: JSONObject, _ options: ClientOptions, _ handlers: ClientHandlers, _ auth: OAuthOptions? = nil,
        server: Server? = nil, functions: [String: HostFunction] = [:]
    ) async throws -> Connection {
        let connection = Connection(server, handlers, functions)
        var client = try object(of: options)
        if !ClientHandlers.subscribing.isDisjoint(with: handlers.notificationHandlers.keys) { client["listen"] = true }
        let lanes = JSONObject(connection.functions.keys.map { ($0, "queue") })
        let members: [(String, (any Encodable)?)] = [("client", client), ("transport", transport), ("handlers", lanes), ("auth", auth)]
        let opened: ConnectionDescription = try ValueDecoder.model(try await connection.open { try parameters(members) })
        connection.known.with { $0 = opened }
        return connection
    }

    var described: ConnectionDescription {
        known.with { known in
            // A restart changes it, and with a pinned revision, the server is known a little later.
            let found: ConnectionDescription? = try? ValueDecoder.model(Port.shared.describe(handle))
            known = found ?? known
            known?.pid = found?.pid
            return known ?? ConnectionDescription()
        }
    }

    func request(_ method: String, _ params: JSONObject?, _ options: RequestOptions) async throws -> JSON {
        try await Port.shared.requests.send(handle, method, params.map(JSON.object), options, causes: server != nil)
    }

    func notify(_ method: String, _ params: JSONObject) throws {
        let message: JSONObject = ["method": .string(method), "params": .object(params)]
        try Port.shared.spans.numbering(handle, message.merging(["notification": true]), message) { try Port.shared.notify(handle, $0) }
    }

    /// Notifications from now on. If they are read too slowly, the newest are dropped. The stream
    /// keeps the client, because the last reference to that closes the connection.
    func notifications(keeping client: ConnectedClient) -> AsyncStream<ServerNotification> {
        let (stream, reader) = Backlog.makeStream()
        let (id, isOpen) = readers.with { readers in
            let id = (readers?.keys.max() ?? 0) + 1
            readers?[id] = reader
            return (id, readers != nil)
        }
        reader.continuation.onTermination = { [readers] _ in
            withExtendedLifetime(client) { _ = readers.with { $0?.removeValue(forKey: id) } }
        }
        if !isOpen { reader.continuation.finish() }
        return stream
    }

    override func receive(notification: ServerNotification) { received.add(notification) }

    override func callable(_ operation: String) -> Callable? {
        guard let function = functions[operation] else { return nil }
        return Callable(name: "the handler \(operation)") { _, body in
            do {
                return try Answer(Shape.result, .object(await function(body.object ?? [:])))
            } catch let error where ClientHandlers.own.contains(operation) && !(error is CancellationError) {
                // The program itself calls these functions, and gets the message.
                throw ToolError(describe(error))
            }
        }
    }

    override func closed(_ error: (any Error)?) {
        received.continuation.finish()
        super.closed(error)
    }
}
