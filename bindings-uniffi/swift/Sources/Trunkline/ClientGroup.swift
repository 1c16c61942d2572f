/// A server of a ``ClientGroup``.
public struct GroupTarget: Sendable {
    let json: JSON
    var client: ConnectedClient?

    /// A server at a URL.
    public static func url(_ url: String) -> GroupTarget { GroupTarget(json: .string(url)) }

    /// A program that serves over its stdin and stdout.
    public static func command(_ command: [String]) -> GroupTarget { GroupTarget(json: .array(command.map(JSON.string))) }

    /// A client, whose connection the group shares and does not close.
    public static func client(_ client: ConnectedClient) -> GroupTarget {
        GroupTarget(json: ["connection": number(client.connection.handle)], client: client)
    }

    /// An entry of `mcpServers`.
    public static func entry(_ entry: JSONObject) -> GroupTarget { GroupTarget(json: .object(entry)) }
}

/// A client of many servers, which routes each request to the right one.
///
/// Tools and prompts are named `server__name`, and resources are `server+uri`. A server that cannot
/// be reached does not affect the others: `servers()` has its error, and the next request to it
/// reconnects. Handlers such as `onElicit` answer all servers; the `serverName` of a request names
/// the one that asks.
public final class ClientGroup: ConnectedClient, ScopedClient, @unchecked Sendable {
    /// The clients of its servers: the last reference to one closes the connection.
    let shared = Locked<[String: ConnectedClient]>([:])

    /// Connects to servers by name. The options apply to each connection.
    public static func connect(
        _ servers: Members<GroupTarget>, endpoint: EndpointOptions = EndpointOptions(), process: ChildOptions = ChildOptions(),
        auth: OAuthOptions? = nil, options: ClientOptions = ClientOptions(), handlers: ClientHandlers = ClientHandlers()
    ) async throws -> ClientGroup {
        let targets = JSONObject(servers.map { name, target in (name, target.json) })
        let group = ClientGroup(try await open(.object(targets), endpoint, process, auth, options, handlers))
        group.shared.with { shared in for (name, target) in servers { shared[name] = target.client } }
        return group
    }

    /// Connects to the servers of a configuration with `mcpServers`.
    public static func connect(
        configuration: JSONObject, endpoint: EndpointOptions = EndpointOptions(), process: ChildOptions = ChildOptions(),
        auth: OAuthOptions? = nil, options: ClientOptions = ClientOptions(), handlers: ClientHandlers = ClientHandlers()
    ) async throws -> ClientGroup {
        ClientGroup(try await open(.object(configuration), endpoint, process, auth, options, handlers))
    }

    /// Connects to the servers of a file with `mcpServers`.
    public static func connect(
        file: String, endpoint: EndpointOptions = EndpointOptions(), process: ChildOptions = ChildOptions(), auth: OAuthOptions? = nil,
        options: ClientOptions = ClientOptions(), handlers: ClientHandlers = ClientHandlers()
    ) async throws -> ClientGroup {
        ClientGroup(try await open(.string(file), endpoint, process, auth, options, handlers))
    }

    /// Adds a server. If connecting to it fails, it stays in the group, and the next request to it
    /// reconnects.
    public func addServer(_ name: String, _ target: GroupTarget, options: RequestOptions = RequestOptions()) async throws {
        // The server stays in the group even if this fails, and so does another one of that name.
        if let client = target.client { shared.with { $0[name] = $0[name] ?? client } }
        try await addServer(name, target: target.json, options: options)
    }

    private static func open(
        _ servers: JSON, _ endpoint: EndpointOptions, _ process: ChildOptions, _ auth: OAuthOptions?, _ options: ClientOptions,
        _ handlers: ClientHandlers
    ) async throws -> Connection {
        let defaults = try object(of: endpoint).merging(try object(of: process))
        let transport: JSONObject = ["type": "group", "servers": servers, "defaults": .object(defaults)]
        return try await Connection.open(transport, options, handlers, auth)
    }
}
