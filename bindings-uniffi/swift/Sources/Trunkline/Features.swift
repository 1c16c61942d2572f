/// A registered feature.
public class Registration: @unchecked Sendable {
    fileprivate let current: Locked<UInt64>
    private let whenRemoved: Locked<@Sendable () -> Void>

    init(_ handle: UInt64, whenRemoved: @escaping @Sendable () -> Void = {}) {
        current = Locked(handle)
        self.whenRemoved = Locked(whenRemoved)
    }

    var handle: UInt64 { current.with { $0 } }

    /// Removes the feature and notifies connected clients. Calling it again has no effect.
    public func remove() {
        Port.shared.unregister(handle)
        whenRemoved.exchange({})()
    }

    /// Shows the feature again.
    public func enable() throws { try Port.shared.notify(handle, ["enabled": true]) }

    /// Hides the feature: it is not listed, and calls of it fail as if it did not exist.
    public func disable() throws { try Port.shared.notify(handle, ["enabled": false]) }
}

/// The options of a tool, a resource, a resource template or a prompt.
public protocol FeatureOptions: Encodable, Sendable {
    var visible: (@Sendable (Context) async throws -> Bool)? { get }
    var completers: [String: @Sendable (CompletionRequest, Context) async throws -> Output] { get }
}

/// A registered tool, resource, resource template or prompt, whose options can change.
public final class ChangeableRegistration<Options: FeatureOptions>: Registration, @unchecked Sendable {
    private let register: @Sendable (Options, _ replaces: UInt64?) throws -> UInt64
    private let options: Locked<Options>

    init(
        _ options: Options, of server: Server, _ register: @escaping @Sendable (Server, Options, _ replaces: UInt64?) throws -> UInt64
    ) throws {
        self.options = Locked(options)
        // A handler that refers to its own registration must not keep the server alive.
        self.register = { [weak server] options, replaces in
            guard let server else { throw TrunklineError(.invalidArgument, "the server of this feature was released") }
            return try register(server, options, replaces)
        }
        super.init(try register(server, options, nil))
    }

    /// Changes options, such as the description.
    ///
    /// - Throws: ``TrunklineError`` of the kind `invalidArgument` if the changed feature is
    ///   invalid, which leaves it unchanged.
    public func update(_ change: (inout Options) throws -> Void) throws {
        try options.with { options in
            var changed = options
            try change(&changed)
            let handle = try register(changed, handle)
            current.with { $0 = handle }
            options = changed
        }
    }
}

/// The request to read a resource.
public struct ResourceRequest: Sendable {
    let body: JSON

    /// The URI of the resource.
    public var uri: String { body["uri"]?.string ?? "" }

    /// The value of a variable of the URI template; nil if the URI omits it.
    public subscript(name: String) -> String? { body["variables"]?[name]?.string }

    /// The values of a variable with `*`.
    public func list(_ name: String) -> [String] { body["variables"]?[name]?.array?.compactMap(\.string) ?? [] }
}

/// The request to complete an argument.
public struct CompletionRequest: Decodable, Sendable {
    private let argument: CompleteArgument
    private let context: CompleteContext?

    /// The text typed so far.
    public var value: String { argument.value }

    /// The other arguments that have a value.
    public var arguments: [String: String] { context?.arguments ?? [:] }
}

/// A request on its way to a handler.
public struct MiddlewareRequest: Sendable {
    /// The protocol method, such as `tools/call`.
    public let method: String
    /// The parameters; empty if there are none.
    public let params: JSONObject
    let context: Context

    /// Runs the rest of the request. Pass `params` to replace those of the request.
    public func next(_ params: JSONObject? = nil) async throws -> JSONObject { try await context.proceed(params) }
}

/// A page of a provider: its items in the form of the protocol, and the cursor of the next page.
public struct ProviderPage: Encodable, Sendable {
    public var items: [JSONObject]
    public var nextCursor: String?

    public init(items: [JSONObject], nextCursor: String? = nil) {
        self.items = items
        self.nextCursor = nextCursor
    }
}

/// A provider of features that are not registered, such as rows of a database.
public protocol Provider: Sendable {
    /// Lists the page at a cursor; the first page if there is none.
    func list(cursor: String?) async throws -> ProviderPage

    /// Returns what a handler would for the parameters of a request; nil if there is no such
    /// feature.
    func get(_ params: JSONObject) async throws -> Output?
}

/// The kind of features that a provider lists.
public enum ProviderKind: String, Sendable {
    case tools, resources, resourceTemplates, prompts
}

/// Verifies access tokens, which must be for the `resource` of the request. Returns the identity of
/// the caller; nil if the token is unknown.
public typealias TokenVerifier = @Sendable (TokenFacts) async throws -> Identity?
