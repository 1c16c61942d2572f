import Foundation

/// The features of a server.
extension Server {
    /// Adds a tool. Its input schema follows from how its arguments are decoded, unless it is
    /// given. What the handler returns becomes the result: a string is text, content blocks are the
    /// content, and a structure is JSON.
    @discardableResult
    public func tool<Arguments: Decodable & Sendable>(
        _ name: String, description: String? = nil, inputSchema: JSONObject? = nil, options: ToolOptions = ToolOptions(),
        _ handler: @escaping @Sendable (Arguments, Context) async throws -> Output
    ) throws -> ChangeableRegistration<ToolOptions> {
        let schema = try inputSchema ?? Schemas.of(Arguments.self, areArguments: true)
        return try tool(name, description, schema, nil, options) { context, body in
            try answerOf(try await handler(try arguments(body), context))
        }
    }

    /// Adds a tool without a result. A handler of several statements says so: `{ … -> Void in`.
    @discardableResult
    @_disfavoredOverload
    public func tool<Arguments: Decodable & Sendable>(
        _ name: String, description: String? = nil, inputSchema: JSONObject? = nil, options: ToolOptions = ToolOptions(),
        _ handler: @escaping @Sendable (Arguments, Context) async throws -> Void
    ) throws -> ChangeableRegistration<ToolOptions> {
        try tool(name, description: description, inputSchema: inputSchema, options: options) { (arguments: Arguments, context) in
            try await handler(arguments, context)
            return JSON.null
        }
    }

    /// Adds a tool with structured results: its output schema follows from how they are decoded.
    @discardableResult
    public func tool<Arguments: Decodable & Sendable, Result: Codable & Sendable>(
        _ name: String, description: String? = nil, inputSchema: JSONObject? = nil, returning: Result.Type,
        options: ToolOptions = ToolOptions(), _ handler: @escaping @Sendable (Arguments, Context) async throws -> Result
    ) throws -> ChangeableRegistration<ToolOptions> {
        let schema = try inputSchema ?? Schemas.of(Arguments.self, areArguments: true)
        let output = try Schemas.ofResult(Result.self, options.outputSchema)
        return try tool(name, description, schema, output, options) { context, body in
            let result = try await handler(try arguments(body), context)
            let json = try written(result, "the result of \(name)")
            // Text is not quoted, whether it has a schema or not. What is wrapped may be an object.
            return try result is String ? answerOf(result) : output.isWrapped ? Answer(Shape.value, json) : answerOf(json)
        }
    }

    /// Adds a tool with a JSON Schema.
    @discardableResult
    public func tool(
        _ name: String, description: String? = nil, inputSchema: JSONObject, options: ToolOptions = ToolOptions(),
        _ handler: @escaping @Sendable (JSONObject, Context) async throws -> Output
    ) throws -> ChangeableRegistration<ToolOptions> {
        try tool(name, description, inputSchema, nil, options) { context, body in
            try answerOf(try await handler(body.object ?? [:], context))
        }
    }

    /// Adds a tool without arguments.
    @discardableResult
    public func tool(
        _ name: String, description: String? = nil, options: ToolOptions = ToolOptions(),
        _ handler: @escaping @Sendable (NoArguments, Context) async throws -> Output
    ) throws -> ChangeableRegistration<ToolOptions> {
        try tool(name, description: description, inputSchema: nil, options: options, handler)
    }

    /// Adds a tool without arguments and without a result. A handler of several statements says so:
    /// `{ _, context -> Void in`.
    @discardableResult
    @_disfavoredOverload
    public func tool(
        _ name: String, description: String? = nil, options: ToolOptions = ToolOptions(),
        _ handler: @escaping @Sendable (NoArguments, Context) async throws -> Void
    ) throws -> ChangeableRegistration<ToolOptions> {
        try tool(name, description: description, inputSchema: nil, options: options, handler)
    }

    /// Adds a tool without arguments, and with structured results.
    @discardableResult
    public func tool<Result: Codable & Sendable>(
        _ name: String, description: String? = nil, returning: Result.Type, options: ToolOptions = ToolOptions(),
        _ handler: @escaping @Sendable (NoArguments, Context) async throws -> Result
    ) throws -> ChangeableRegistration<ToolOptions> {
        try tool(name, description: description, inputSchema: nil, returning: returning, options: options, handler)
    }

    private func tool(
        _ name: String, _ description: String?, _ inputSchema: JSONObject, _ output: (schema: JSONObject, isWrapped: Bool)?,
        _ options: ToolOptions, _ run: @escaping Handler
    ) throws -> ChangeableRegistration<ToolOptions> {
        var first = options
        first.description = first.description ?? description
        first.outputSchema = first.outputSchema ?? output?.schema
        return try ChangeableRegistration(first, of: self) { server, options, replaces in
            let tool = options.tool(name: name, inputSchema: inputSchema)
            let members: [(String, (any Encodable)?)] = [("tool", tool), ("wrapOutput", output?.isWrapped ?? false)]
            return try server.register("tool", name, members, options, replaces, run)
        }
    }

    /// Adds a resource or, with a URI template (RFC 6570, such as `notes://{name}`), all resources
    /// whose URI matches. An exact URI takes precedence over templates. A string is text, data is a
    /// blob, and a structure is JSON.
    @discardableResult
    public func resource(
        _ name: String, uri: String, description: String? = nil, mimeType: String? = nil, options: ResourceOptions = ResourceOptions(),
        _ handler: @escaping @Sendable (ResourceRequest, Context) async throws -> Output
    ) throws -> ChangeableRegistration<ResourceOptions> {
        let isTemplate = uri.contains("{")
        let kind = isTemplate ? "resourceTemplate" : "resource"
        var first = options
        first.description = first.description ?? description
        first.mimeType = first.mimeType ?? mimeType
        return try ChangeableRegistration(first, of: self) { server, options, replaces in
            let described: any Encodable =
                isTemplate ? options.resourceTemplate(uriTemplate: uri, name: name) : options.resource(uri: uri, name: name)
            return try server.register(kind, name, [(kind, described)], options, replaces) { context, body in
                try contentsOf(try await handler(ResourceRequest(body: body), context))
            }
        }
    }

    /// Adds a prompt. Strings and content blocks become user messages.
    @discardableResult
    public func prompt(
        _ name: String, description: String? = nil, arguments: [PromptArgument]? = nil, options: PromptOptions = PromptOptions(),
        _ handler: @escaping @Sendable ([String: String], Context) async throws -> Output
    ) throws -> ChangeableRegistration<PromptOptions> {
        var first = options
        first.description = first.description ?? description
        return try ChangeableRegistration(first, of: self) { server, options, replaces in
            let prompt = options.prompt(name: name, arguments: arguments)
            return try server.register("prompt", name, [("prompt", prompt)], options, replaces) { context, body in
                try messagesOf(try await handler(strings(body), context))
            }
        }
    }

    /// Adds completions of an argument of a prompt or a resource template: a list of strings, or a
    /// ``Completion``. If both are added together, the option `completers` is simpler.
    @discardableResult
    public func completion(
        _ reference: CompletionReference, argument: String,
        _ handler: @escaping @Sendable (CompletionRequest, Context) async throws -> Output
    ) throws -> Registration {
        try add("completion", argument, [("ref", reference), ("argument", argument)]) { context, body in
            try completionOf(try await handler(try ValueDecoder.model(body), context))
        }
    }

    /// Adds middleware for some methods, or for all that can be wrapped. The first one added is
    /// outermost.
    @discardableResult
    public func middleware(
        _ methods: String..., handler: @escaping @Sendable (MiddlewareRequest, Context) async throws -> JSONObject
    ) throws -> Registration {
        try add("middleware", "middleware", [("methods", methods.isEmpty ? nil : methods)]) { context, body in
            let params = body["params"]?.object ?? [:]
            let request = MiddlewareRequest(method: body["method"]?.string ?? "", params: params, context: context)
            return try Answer(Shape.result, .object(await handler(request, context)))
        }
    }

    /// Adds the handler of a request that is not part of the protocol, such as `com.acme/sum`.
    @discardableResult
    public func requestHandler(
        _ method: String, options: RequestHandlerOptions = RequestHandlerOptions(),
        _ handler: @escaping @Sendable (JSONObject, Context) async throws -> JSONObject?
    ) throws -> Registration {
        try add("requestHandler", method, [("method", method)], options) { context, body in
            try Answer(Shape.value, await handler(body.object ?? [:], context).map(JSON.object) ?? .null)
        }
    }

    /// Adds a provider to a list.
    @discardableResult
    public func provider(_ of: ProviderKind, _ provider: any Provider) throws -> Registration {
        let answer = of == .tools ? answerOf : of == .prompts ? messagesOf : contentsOf
        return try add("provider", "the provider of \(of)", [("of", of.rawValue)]) { _, body in
            guard let list = body["list"] else {
                return try await provider.get(body["get"]?.object ?? [:]).map(answer) ?? answerOf(JSON.null)
            }
            return try Answer(Shape.value, JSON(encoding: await provider.list(cursor: list["cursor"]?.string)))
        }
    }

    /// Adds an agent skill: its files by path, with a `SKILL.md` that names it.
    @discardableResult
    public func skill(files: KeyValuePairs<String, String>, options: SkillOptions = SkillOptions()) throws -> Registration {
        try add("skill", "skill", [("files", files.map { SkillFile(path: $0, text: $1) })], options)
    }

    /// Adds an agent skill: a folder with a `SKILL.md` that names it.
    @discardableResult
    public func skill(folder: String, options: SkillOptions = SkillOptions()) throws -> Registration {
        try add("skill", "skill", [("folder", folder)], options)
    }

    /// Adds a folder whose files are served as resources, below `uri`. They are read on request.
    @discardableResult
    public func directory(_ uri: String, path: String, options: DirectoryOptions = DirectoryOptions()) throws -> Registration {
        try add("directory", uri, [("uri", uri), ("path", path)], options)
    }

    func add(
        _ kind: String, _ name: String, _ members: [(String, (any Encodable)?)], _ options: (any Encodable)? = nil, _ run: Handler? = nil
    ) throws -> Registration {
        let options = try options.map { try object(of: $0) } ?? [:]
        let description = options.merging(try parameters(members + [("server", number(try handle()))]))
        let callable = run.map { Callable(name: "\(kind) \(name)", owner: owner, tool: kind == "tool" ? name : nil, run: $0) }
        return Registration(try Port.shared.register(kind, description, callable.map { ["": $0] } ?? [:]))
    }

    /// Registers a feature, and the functions of its options, which it then keeps alive.
    private func register(
        _ kind: String, _ name: String, _ members: [(String, (any Encodable)?)], _ options: some FeatureOptions, _ replaces: UInt64?,
        _ run: @escaping Handler
    ) throws -> UInt64 {
        var hooks: [Registration] = []
        defer { for hook in hooks { hook.remove() } }
        func hook(_ kind: String, _ name: String, _ run: @escaping Handler) throws -> JSON {
            let hook = try add(kind, name, [], nil, run)
            hooks.append(hook)
            return number(hook.handle)
        }
        let visible = try options.visible.map { visible in
            try hook("visibility", "of \(kind) \(name)") { context, _ in try Answer(Shape.value, .bool(await visible(context))) }
        }
        let completers = try options.completers.map { argument, complete in
            let completer = try hook("completer", "of \(argument) of \(kind) \(name)") { context, body in
                try completionOf(try await complete(try ValueDecoder.model(body), context))
            }
            return (argument, completer)
        }
        let more: [(String, (any Encodable)?)] = [
            ("visible", visible), ("complete", completers.isEmpty ? nil : JSONObject(completers)), ("replaces", replaces.map(number)),
        ]
        return try add(kind, name, members + more, options, run).handle
    }
}

/// The arguments of a tool that has none.
public struct NoArguments: Codable, Sendable {}

/// The arguments of a tool. What the schema allows and the type does not is the caller's error.
private func arguments<T: Decodable>(_ body: JSON) throws -> T {
    do {
        return try body.decoded()
    } catch {
        throw InvalidArguments(cause: error)
    }
}

/// The strings of an object, as the arguments of a prompt are.
private func strings(_ body: JSON) -> [String: String] {
    Dictionary((body.object ?? [:]).compactMap { $1 == .null ? nil : ($0, $1.string ?? "\($1)") }, uniquingKeysWith: { $1 })
}

/// Checks that a store fulfills its contract, which takes a few seconds. Returns the violations
/// found.
public func checkStore(_ store: any Store) async throws -> [String] {
    let server = Server("check", version: "1", store: store)
    let findings = try await server.checkStore()
    try await server.close()
    return findings
}
