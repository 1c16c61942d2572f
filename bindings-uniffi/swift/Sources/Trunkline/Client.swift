/// The base of ``Client`` and ``ClientGroup``.
public class ConnectedClient: @unchecked Sendable {
    let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // Ends a connection that nothing refers to any more.
    deinit { if connection.isOpen { try? Port.shared.core.close(handle: connection.handle, deadlineMs: 0) } }

    var described: ConnectionDescription { connection.described }

    /// False once the client was closed or has lost a server that it cannot reach again.
    public var isConnected: Bool { connection.isOpen }

    /// Notifications from the server, starting now. If they are read too slowly, the newest are
    /// dropped.
    public var notifications: AsyncStream<ServerNotification> { connection.notifications(keeping: self) }

    /// Sends a request that has no dedicated function, and returns its result.
    @discardableResult
    public func request(_ method: String, _ params: JSONObject? = nil, options: RequestOptions = RequestOptions()) async throws -> JSON {
        try await connection.request(method, params, options)
    }

    /// Sends a notification.
    public func notify(_ method: String, _ params: JSONObject = [:]) throws { try connection.notify(method, params) }

    /// Changes the roots.
    @available(*, deprecated, message: "since 2026-07-28, use tool arguments, resource URIs or configuration instead")
    public func setRoots(_ roots: [Root]) throws { try Port.shared.notify(connection.handle, parameters([("roots", roots)])) }

    /// Calls a tool with the arguments of a structure.
    @_disfavoredOverload
    @discardableResult
    public func callTool<Arguments: Encodable>(
        _ name: String, _ arguments: Arguments, options: RequestOptions = RequestOptions()
    ) async throws -> CallToolResult {
        guard let object = try written(arguments, "the arguments").object else {
            throw TrunklineError(.invalidArgument, "the arguments of a tool are an object, and not a \(Arguments.self)")
        }
        return try await callTool(name, object as JSONObject?, options: options)
    }

    /// Calls a tool, and yields its progress and then its result. Ending the iteration cancels the
    /// call.
    public func callToolEvents(
        _ name: String, _ arguments: JSONObject? = nil, options: RequestOptions = RequestOptions()
    ) -> AsyncThrowingStream<ToolEvent, any Error> {
        let (stream, events) = AsyncThrowingStream.makeStream(of: ToolEvent.self, bufferingPolicy: .bufferingNewest(2))
        var reporting = options
        reporting.onProgress = { report in
            events.yield(.progress(report))
            await options.onProgress?(report)
        }
        let call = Task { [self, reporting] in
            do {
                events.yield(.result(try await callTool(name, arguments, options: reporting)))
                events.finish()
            } catch {
                events.finish(throwing: error)
            }
        }
        events.onTermination = { _ in call.cancel() }
        return stream
    }

    /// Subscribes to changes of resources, lists and tasks. Works on every revision.
    public func subscribe(_ filter: SubscriptionFilter, options: RequestOptions = RequestOptions()) async throws -> Subscription {
        try Subscription(try await Stream.open(self, "subscribe", try object(of: filter), options))
    }

    /// Calls a tool as a task, on any revision that supports tasks. If the server doesn't create a
    /// task, the returned object has no id, and its result is available at once.
    public func startTask(
        _ name: String, _ arguments: JSONObject? = nil, ttl: Duration? = nil, options: RequestOptions = RequestOptions()
    ) async throws -> ClientTask {
        let params = try parameters([("name", name), ("arguments", arguments), ("ttlMs", ttl)])
        return try ClientTask(try await Stream.open(self, "startTask", params, options))
    }

    /// Resumes a task by its id, for example one that an earlier run of the program started.
    public func resumeTask(_ taskID: String, options: RequestOptions = RequestOptions()) async throws -> ClientTask {
        try ClientTask(try await Stream.open(self, "startTask", ["taskId": .string(taskID)], options))
    }

    /// Closes the connection; requests in flight fail. A server that the client started gets
    /// `deadline` to exit.
    public func close(deadline: Duration? = nil) async throws { try await connection.close(deadline) }

    /// Waits until the connection has ended. Throws the error that ended it, if any.
    public func join() async throws { try await connection.end() }
}

/// A client that a piece of work uses, and then closes.
public protocol ScopedClient: ConnectedClient {}

extension ScopedClient {
    /// Runs `work` on the actor of its caller, and closes the connection, even if the task is
    /// cancelled.
    public func use<T: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ work: (Self) async throws -> T
    ) async throws -> T {
        let result: T
        do {
            result = try await work(self)
        } catch {
            try? await close()
            throw error
        }
        try await close()
        return result
    }
}

/// The events of ``ConnectedClient/callToolEvents(_:_:options:)``: reports of progress, then the
/// result.
public enum ToolEvent: Sendable {
    case progress(ProgressReport)
    case result(CallToolResult)
}

/// A connection to a server.
public final class Client: ConnectedClient, ScopedClient, @unchecked Sendable {
    /// Connects to a server at a URL.
    public static func connect(
        url: String, endpoint: EndpointOptions = EndpointOptions(), auth: OAuthOptions? = nil, options: ClientOptions = ClientOptions(),
        handlers: ClientHandlers = ClientHandlers()
    ) async throws -> Client {
        let transport = try object(of: endpoint).merging(["type": "http", "url": .string(url)])
        return Client(try await Connection.open(transport, options, handlers, auth))
    }

    /// Starts a program that serves over its stdin and stdout, and connects to it. Not on iOS,
    /// where programs cannot start others.
    public static func connect(
        command: [String], process: ChildOptions = ChildOptions(), options: ClientOptions = ClientOptions(),
        handlers: ClientHandlers = ClientHandlers()
    ) async throws -> Client {
        let transport = try object(of: process).merging(["type": "child", "command": .array(command.map(JSON.string))])
        return Client(try await Connection.open(transport, options, handlers))
    }

    /// Connects to a server in this process.
    public static func connect(
        to server: Server, options: ClientOptions = ClientOptions(), handlers: ClientHandlers = ClientHandlers()
    ) async throws -> Client {
        let transport: JSONObject = ["type": "memory", "server": number(try server.handle())]
        return Client(try await Connection.open(transport, options, handlers, server: server))
    }

    /// Connects to a server of a configuration: an entry of `mcpServers`, or a configuration with
    /// one server.
    public static func connect(
        configuration: JSONObject, auth: OAuthOptions? = nil, options: ClientOptions = ClientOptions(),
        handlers: ClientHandlers = ClientHandlers()
    ) async throws -> Client {
        Client(try await Connection.open(["type": "config", "server": .object(configuration)], options, handlers, auth))
    }

    /// Connects through a custom transport.
    public static func connect(
        transport: any Transport, options: ClientOptions = ClientOptions(), handlers: ClientHandlers = ClientHandlers()
    ) async throws -> Client {
        Client(try await Connection.open(["type": "channel"], options, handlers, functions: functions(of: transport)))
    }
}
