/// A server of tools, resources, prompts and skills for clients of every protocol revision. One
/// server handles all connections and requests of a process, on any number of transports. Features
/// can be added and removed at any time.
///
/// Each handler runs as a task, which is cancelled with its call. As elsewhere in Swift, a handler
/// must not block its thread.
public final class Server: Sendable {
    /// Name and version.
    public let info: Implementation
    let owner: Owner
    private let functions: [String: HostFunction]
    private let lifespan: Lifespan?

    /// The description of this server for the core.
    private let description: @Sendable () throws -> JSONObject
    private let registered = Locked<UInt64?>(nil)

    /// The open handles that serve or use this server.
    private let open = Locked<[ObjectIdentifier: OpenHandle]>([:])

    /// The servers and clients behind mounts and proxies, by registration. The last reference to
    /// one ends it.
    private let sources = Locked<[UInt64: any AnyObject & Sendable]>([:])

    /// Creates a server.
    ///
    /// - Parameter store: A custom store for tasks and sessions, instead of the option with a URL.
    /// - Parameter lifespan: Opens what calls need, before the first one.
    /// - Parameter onError: Called with handler errors that are hidden from callers.
    public init(
        info: Implementation, instructions: String? = nil, options: ServerOptions = ServerOptions(), store: (any Store)? = nil,
        lifespan: Lifespan? = nil, onError: (@Sendable (any Error, Context) -> Void)? = nil
    ) {
        self.info = info
        self.lifespan = lifespan
        owner = Owner(onError: onError)
        let functions = store.map(functions(of:)) ?? [:]
        let lanes = functions.isEmpty ? nil : JSONObject(functions.keys.map { ($0, "queue") })
        self.functions = functions
        description = { try parameters([("info", info), ("instructions", instructions), ("options", options), ("store", lanes)]) }
    }

    /// Creates a server.
    ///
    /// ```swift
    /// let server = Server("weather", version: "1.0.0")
    /// try server.tool("forecast", description: "Forecasts the weather") { (arguments: Forecast, context) in
    ///     "Rain in \(arguments.city)"
    /// }
    /// try await server.serveStdio()
    /// ```
    public convenience init(
        _ name: String, version: String, instructions: String? = nil, options: ServerOptions = ServerOptions(),
        store: (any Store)? = nil, lifespan: Lifespan? = nil, onError: (@Sendable (any Error, Context) -> Void)? = nil
    ) {
        let info = Implementation(name: name, version: version)
        self.init(info: info, instructions: instructions, options: options, store: store, lifespan: lifespan, onError: onError)
    }

    // Open handles keep the server alive.
    deinit { if let handle = registered.with({ $0 }) { Port.shared.unregister(handle) } }

    /// The handle, from the first use on: invalid options are errors of that.
    func handle() throws -> UInt64 {
        try registered.with { registered in
            if let registered { return registered }
            let callables = functions.map { name, function in (name, storing(name, function)) }
            let handle = try Port.shared.register("server", description(), Dictionary(uniqueKeysWithValues: callables))
            if let lifespan { _ = try Port.shared.register("lifespan", ["server": number(handle)], lifespan.callables(owner.opened)) }
            registered = handle
            return handle
        }
    }

    private func storing(_ name: String, _ function: @escaping HostFunction) -> Callable {
        Callable(name: name, owner: owner) { _, body in
            do {
                return try Answer(Shape.result, .object(await function(body.object ?? [:])))
            } catch let error where !(error is StoreError || error is CancellationError) {
                throw StoreError(.unavailable, describe(error))
            }
        }
    }

    /// Adds the features of another server, named `prefix__name` and `prefix+uri`.
    @discardableResult
    public func mount(_ prefix: String, _ other: Server) throws -> Registration {
        keeping(other, try add("mount", prefix, [("prefix", prefix), ("mounted", number(other.handle()))]))
    }

    /// Adds the features of the server behind a client.
    @discardableResult
    public func proxy(_ client: ConnectedClient, options: ProxyOptions = ProxyOptions()) throws -> Registration {
        keeping(client, try add("proxy", "proxy", [("connection", number(client.connection.handle))], options))
    }

    /// Keeps the server or client behind features until they are removed.
    private func keeping(_ source: any AnyObject & Sendable, _ added: Registration) -> Registration {
        sources.with { $0[added.handle] = source }
        return Registration(added.handle) { [weak self, handle = added.handle] in
            _ = self?.sources.with { $0.removeValue(forKey: handle) }
        }
    }

    /// Notifies subscribers that a resource has changed.
    public func resourceUpdated(_ uri: String) throws { try Port.shared.notify(handle(), ["resourceUpdated": .string(uri)]) }

    /// Notifies clients that the list of a provider has changed. Other lists need no call.
    public func listChanged(_ of: ProviderKind) throws { try Port.shared.notify(handle(), ["listChanged": .string(of.rawValue)]) }

    /// Notifies the client that the user has finished with the page of `elicitURL` (2025-11-25).
    public func elicitationComplete(_ elicitationID: String) throws {
        try Port.shared.notify(handle(), ["elicitationComplete": .string(elicitationID)])
    }

    /// Serves over stdin and stdout in the foreground, until stdin ends, SIGINT or SIGTERM arrives,
    /// or the task is cancelled. Calls in flight may then complete within `drainDeadline`. Once
    /// this is called, anything that the program prints goes to stderr.
    public func serveStdio() async throws {
        let opened = OpenHandle(self)
        try await endedBySignals({ try await opened.close() }) { handlesSignals in
            let handle = try handle()
            _ = try await opened.open {
                ["server": number(handle), "transport": ["type": "stdio"], "foreground": true, "signals": .bool(handlesSignals)]
            }
            try await opened.endInForeground()
        }
    }

    /// Listens for Streamable HTTP. With `auth`, requests need an access token, which `verifier`
    /// verifies.
    public func listen(
        _ options: HTTPOptions = HTTPOptions(), auth: AuthOptions? = nil, verifier: TokenVerifier? = nil
    ) async throws -> Listener {
        try await bind(OpenHandle(self), options, auth, verifier)
    }

    /// Serves Streamable HTTP in the foreground, until SIGINT or SIGTERM arrives, or the task is
    /// cancelled. Calls in flight may then complete within `drainDeadline`. Like
    /// ``listen(_:auth:verifier:)`` followed by ``Listener/run()``, but also handles signals while
    /// opening.
    public func serveHTTP(
        _ options: HTTPOptions = HTTPOptions(), auth: AuthOptions? = nil, verifier: TokenVerifier? = nil
    ) async throws {
        let opened = OpenHandle(self)
        try await endedBySignals({ try await opened.close() }) {
            try await bind(opened, options, auth, verifier).serve(handlesSignals: $0)
        }
    }

    /// An endpoint of Streamable HTTP in the program's own web server, which passes requests to it.
    /// It takes the options of ``listen(_:auth:verifier:)`` except those of a socket, and serves
    /// every path that it gets, unless the options name one.
    ///
    /// - Throws: ``TrunklineError`` of the kind `invalidArgument` if an option is invalid.
    public func endpoint(
        _ options: HTTPOptions = HTTPOptions(), auth: AuthOptions? = nil, verifier: TokenVerifier? = nil
    ) throws -> HTTPEndpoint {
        let checked: JSONObject = ["server": number(try handle()), "transport": .object(try transport(options, isMounted: true))]
        try native { try Port.shared.core.check(json: text(checked)) }
        return HTTPEndpoint { [self] in
            let opened = OpenHandle(self)
            return (opened, Task { _ = try await bind(opened, options, auth, verifier, isMounted: true) })
        }
    }

    private func transport(_ options: HTTPOptions, isMounted: Bool) throws -> JSONObject {
        try object(of: options).merging(["type": "http", "mounted": .bool(isMounted)])
    }

    private func bind(
        _ opened: OpenHandle, _ options: HTTPOptions, _ auth: AuthOptions?, _ verifier: TokenVerifier?, isMounted: Bool = false
    ) async throws -> Listener {
        var transport = try transport(options, isMounted: isMounted)
        if let auth {
            var judged = try object(of: auth)
            if let verifier { judged["verifier"] = number(try verifying(verifier, opened)) }
            transport["auth"] = .object(judged)
        }
        let message: JSONObject = ["server": number(try handle()), "transport": .object(transport)]
        return Listener(opened, try await opened.open { message })
    }

    private func verifying(_ verifier: @escaping TokenVerifier, _ opened: OpenHandle) throws -> UInt64 {
        let callable = Callable(name: "the verifier", owner: owner) { context, body in
            let described: VerificationDescription = try ValueDecoder.model(try Port.shared.describe(context.ticket))
            let identity = try await verifier(TokenFacts(given: try ValueDecoder.model(body), described: described))
            return try Answer(Shape.value, identity.map { try JSON(encoding: $0) } ?? .null)
        }
        let verifying = try Port.shared.register("verifier", ["server": number(handle())], ["": callable])
        opened.atEnd { Port.shared.unregister(verifying) }
        return verifying
    }

    /// Checks the server's store, and returns what is wrong with it. This takes a few seconds.
    public func checkStore() async throws -> [String] {
        Port.shared.start()
        let reply = try await Port.shared.requests.send(try handle(), "checkStore")
        return reply["findings"]?.array?.compactMap(\.string) ?? []
    }

    /// Closes all listeners, and removes all features. Calls in flight get `deadline` (by default,
    /// all but the last fifth of `drainDeadline`).
    public func close(deadline: Duration? = nil) async throws {
        try await withThrowingTaskGroup(of: Void.self) { closing in
            for one in open.with({ Array($0.values) }) { closing.addTask { try await one.close(deadline) } }
            try await closing.waitForAll()
        }
        if let handle = registered.with({ $0 }) { Port.shared.unregister(handle) }
        sources.with { $0 = [:] }
    }

    func opens(_ handle: OpenHandle) { open.with { $0[ObjectIdentifier(handle)] = handle } }
    func closed(_ handle: OpenHandle) { _ = open.with { $0.removeValue(forKey: ObjectIdentifier(handle)) } }

    /// The error of the lifespan, if it could not be opened.
    func openingFailure() -> (any Error)? {
        owner.opened.with { opened in
            guard case .failure(let error) = opened?.result else { return nil }
            opened = nil
            return error
        }
    }
}
