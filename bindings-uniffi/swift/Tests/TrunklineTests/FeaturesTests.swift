import Foundation
import Testing
import TrunklineNative

@testable import Trunkline

@Suite(.timeLimit(.minutes(1))) struct FeaturesTests {
    @Test func resourcesAndPromptsAndCompletions() async throws {
        let server = Server("test", version: "1")
        let completer: @Sendable (CompletionRequest, Context) async throws -> Output = { request, _ in
            ["oslo", "ottawa"].filter { $0.hasPrefix(request.value) }
        }
        try server.resource("note", uri: "notes://{name}", options: ResourceOptions(completers: ["name": completer])) { request, _ in
            "note of \(request["name"] ?? "")"
        }
        try server.prompt("review", arguments: [PromptArgument(name: "code", required: true)]) { arguments, _ in
            [PromptMessage(role: .user, content: .text("Review \(arguments["code"] ?? "")"))]
        }
        try server.prompt("both") { _, _ in ["one", "two"] }
        try await Client.connect(to: server).use { client in
            #expect(try await client.getPrompt("both").messages.map(\.content.text) == ["one", "two"])
            let note = TextResourceContents(uri: "notes://a", text: "note of a", mimeType: "text/plain")
            #expect(try await client.readResource("notes://a").contents == [.text(note)])
            #expect(try await client.getPrompt("review", ["code": "x"]).messages.first?.content.text == "Review x")
            let reference = CompletionReference.resource(ResourceTemplateReference(uri: "notes://{name}"))
            let result = try await client.complete(reference, argument: CompleteArgument(name: "name", value: "ot"))
            #expect(result.completion.values == ["ottawa"])
        }
        try await server.close()
    }

    @Test func featuresChangeWhileClientsAreConnected() async throws {
        let changes = Latest<Int>()
        let server = Server("test", version: "1")
        let tool = try server.tool("one", description: "First") { _, _ in "1" }
        try server.tool("hidden", options: ToolOptions(visible: { $0.auth != nil })) { _, _ in "2" }
        let handlers = ClientHandlers(onToolsChanged: { changes.set((changes.value ?? 0) + 1) })
        try await Client.connect(to: server, handlers: handlers).use { client in
            #expect(try await client.listTools().map(\.description) == ["First"])
            try tool.update { $0.description = "Second" }
            await changes.wait()
            #expect(try await client.listTools().map(\.description) == ["Second"])
            try tool.disable()
            #expect(try await client.listTools().isEmpty)
            try tool.enable()
            tool.remove()
            tool.remove()
            #expect(try await client.listTools().isEmpty)
        }
        try await server.close()
    }

    @Test func aClosedPipeDoesNotEndTheProcess() async throws {
        let server = Server("test", version: "1")
        try await Client.connect(to: server).close()
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0 && close(ends[0]) == 0)
        #expect(write(ends[1], "a", 1) == -1 && errno == EPIPE)
        close(ends[1])
    }

    @Test func featuresOfAFreedServerCannotChange() async throws {
        let tool = try Server("test", version: "1").tool("one") { _, _ in "1" }
        #expect(await failure { try tool.update { $0.description = "First" } }?.kind == .invalidArgument)
        tool.remove()
    }

    @Test func subscriptionsAreSequences() async throws {
        let server = Server("test", version: "1")
        try server.resource("file", uri: "file:///a") { _, _ in "a" }
        try await Client.connect(to: server).use { client in
            let subscription = try await client.subscribe(SubscriptionFilter(resources: ["file:///a"]))
            try server.resourceUpdated("file:///a")
            let change = try await subscription.changes.first { _ in true }
            #expect(change?.kind == .resource && change?.uri == "file:///a")
            subscription.close()
            #expect(try await subscription.changes.first { _ in true } == nil)
        }
        try await server.close()
    }

    @available(macOS 15, iOS 18, *)
    @Test func aChangeThatArrivesAsItsWaitIsCancelledIsKept() async throws {
        let server = Server("test", version: "1")
        try server.resource("file", uri: "file:///a") { _, _ in "a" }
        try await Client.connect(to: server).use { client in
            let subscription = try await client.subscribe(SubscriptionFilter(resources: ["file:///a"]))
            let executor = QueueExecutor()
            let waiting = Task(executorPreference: executor) { try await subscription.changes.first { _ in true } }
            try await Task.sleep(for: .milliseconds(100))
            executor.queue.suspend()
            try server.resourceUpdated("file:///a")
            // The change has arrived, but the task has not resumed.
            try await Task.sleep(for: .milliseconds(300))
            waiting.cancel()
            executor.queue.resume()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(try await subscription.changes.first { _ in true }?.uri == "file:///a")
        }
        try await server.close()
    }

    @Test func aLifespanIsOpenWhileTheServerIsUsed() async throws {
        let events = Locked<[String]>([])
        let lifespan = Lifespan {
            events.with { $0.append("open") }
            return "database"
        } close: { (_: String) in
            events.with { $0.append("close") }
        }
        let server = Server("test", version: "1", lifespan: lifespan)
        try server.tool("query") { _, context in try context.lifespan(String.self) }
        for _ in 0..<2 {
            let text = try await Client.connect(to: server).use { try await $0.callTool("query").text }
            #expect(text == "database")
        }
        try await server.close()
        #expect(events.with { $0 } == ["open", "close", "open", "close"])
    }

    @Test func theLifespanOfAnUnmountedServerEndsWithTheUseOfItsHost() async throws {
        let events = Locked<[String]>([])
        let lifespan = Lifespan {
            events.with { $0.append("open") }
            return "database"
        } close: { (_: String) in
            events.with { $0.append("close") }
        }
        let inner = Server("inner", version: "1", lifespan: lifespan)
        try inner.tool("query") { _, context in try context.lifespan(String.self) }
        let outer = Server("outer", version: "1")
        let mount = try outer.mount("in", inner)
        let text = try await Client.connect(to: outer).use { client in
            let text = try await client.callTool("in__query").text
            mount.remove()
            mount.remove()
            return text
        }
        #expect(text == "database")
        #expect(events.with { $0 } == ["open", "close"])
        try await Client.connect(to: outer).use { _ in }
        #expect(events.with { $0 } == ["open", "close"])
        try await outer.close()
        try await inner.close()
    }

    @Test func aCallWaitsForTheLifespanOfAServerMountedDuringTheUse() async throws {
        let (inner, events) = try slowlyOpened()
        let outer = Server("outer", version: "1")
        let text = try await Client.connect(to: outer).use { client in
            try outer.mount("in", inner)
            return try await client.callTool("in__query").text
        }
        #expect(text == "database")
        #expect(events.with { $0 } == ["open", "close"])
    }

    @Test func aMountOpensNoLifespan() async throws {
        let (inner, events) = try slowlyOpened()
        let outer = Server("outer", version: "1")
        try await Client.connect(to: outer).use { _ in _ = try outer.mount("in", inner) }
        #expect(events.with { $0 } == [])
    }

    @Test func theLifespanOfAMountedServerThatFailsToOpenFailsTheCall() async throws {
        let lifespan = Lifespan(open: { () async throws -> String in throw ToolError("no database") })
        let inner = Server("inner", version: "1", lifespan: lifespan)
        try inner.tool("query") { _, context in try context.lifespan(String.self) }
        let outer = Server("outer", version: "1")
        try outer.mount("in", inner)
        try await Client.connect(to: outer).use { client in
            let error = await failure { try await client.callTool("in__query") }
            #expect(error?.kind == .protocol && error?.code == ErrorCodes.internalError)
            #expect(error?.message.contains("database") == false)
        }
    }

    @Test func closingEndsALifespanThatIsStillOpening() async throws {
        let (started, cancelled, closed) = (Latest<Bool>(), Latest<Bool>(), Latest<Int>())
        let lifespan = Lifespan {
            started.set(true)
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(10)) }
            cancelled.set(true)
            return 1
        } close: {
            closed.set($0)
        }
        let server = Server("test", version: "1", lifespan: lifespan)
        let listening = Task { try await server.listen(HTTPOptions(port: 0)) }
        await started.wait()
        try await server.close()
        #expect(await failure { try await listening.value }?.kind == .closed)
        await cancelled.wait()
        // The lifespan has opened nevertheless.
        await closed.wait()
        #expect(closed.value == 1)
    }

    @Test func whatALifespanOpensForACallThatIsOverIsClosed() async throws {
        let closed = Latest<Int>()
        let open = Lifespan(open: { 1 }, close: { closed.set($0) }).callables(Opened(nil))[WaistMethods.open]!
        let server = Server("test", version: "1")
        try server.tool("open") { _, context -> Void in
            // The call ends between the opening and its answer.
            let late = Callable(name: "late") { _, body in try await open.run(context, body) }
            let over = Event(
                kind: EventKind.call, ticket: none, handle: none, ok: true, name: "", body: Data("{}".utf8), cause: none, causePort: none)
            Port.shared.calls.start(over, late, nil)
            await closed.wait()
        }
        try await Client.connect(to: server).use { _ = try await $0.callTool("open") }
        #expect(closed.value == 1)
        try await server.close()
    }

    @Test func aLifespanThatFailsToOpenIsTriedAgain() async throws {
        let attempts = Locked(0)
        let lifespan = Lifespan {
            let attempt = attempts.with { attempts in
                attempts += 1
                return attempts
            }
            if attempt < 3 { throw ToolError("no database") }
            return attempt
        }
        let server = Server("test", version: "1", lifespan: lifespan)
        await #expect(throws: ToolError.self) { try await Client.connect(to: server) }
        await #expect(throws: ToolError.self) { try await server.listen(HTTPOptions(port: 0)) }
        try await Client.connect(to: server).close()
        #expect(attempts.with { $0 } == 3)
    }

    @Test func removingAMountTwiceLeavesALaterMountAlone() async throws {
        let (inner, events) = try slowlyOpened()
        let outer = Server("outer", version: "1")
        let mount = try outer.mount("in", inner)
        mount.remove()
        try outer.mount("in", inner)
        mount.remove()
        let text = try await Client.connect(to: outer).use { try await $0.callTool("in__query").text }
        #expect(text == "database")
        #expect(events.with { $0 } == ["open", "close"])
    }

    /// A server whose lifespan takes a while to open, and what that has done.
    private func slowlyOpened() throws -> (server: Server, events: Locked<[String]>) {
        let events = Locked<[String]>([])
        let lifespan = Lifespan {
            try await Task.sleep(for: .milliseconds(20))
            events.with { $0.append("open") }
            return "database"
        } close: { (_: String) in
            events.with { $0.append("close") }
        }
        let server = Server("inner", version: "1", lifespan: lifespan)
        try server.tool("query") { _, context in try context.lifespan(String.self) }
        return (server, events)
    }

    @Test func whatIsClosedWhileItOpensDoesNotServe() async throws {
        let server = Server("test", version: "1")
        let opened = OpenHandle(server)
        let error = await failure {
            try await opened.open {
                let closed = DispatchSemaphore(value: 0)
                Task.detached {
                    try? await opened.close()
                    closed.signal()
                }
                closed.wait()
                return ["server": number(try server.handle()), "transport": ["type": "http", "port": 0]]
            }
        }
        #expect(error?.kind == .closed)
        try? await opened.end()
        #expect(!opened.isOpen)
    }

    @Test func invalidRegistrationsSayWhatIsWrong() async throws {
        let server = Server("test", version: "1", options: ServerOptions(pageSize: -1))
        #expect(await failure { try server.tool("a") { _, _ in "" } }?.kind == .invalidArgument)
        let other = Server("test", version: "1")
        try other.tool("a") { _, _ in "" }
        let twice = await failure { try other.tool("a") { _, _ in "" } }
        #expect(twice?.kind == .invalidArgument && twice?.message.contains("a") == true)
    }

    @Test func serversListenOverHTTPWithTokens() async throws {
        let server = Server("test", version: "1")
        try server.tool("whoami") { _, context in context.auth?.subject ?? "nobody" }
        let needed = AuthOptions(resource: "http://127.0.0.1/mcp", authorizationServers: ["https://auth.example.com"])
        let listener = try await server.listen(HTTPOptions(port: 0), auth: needed) { token in
            token.token == "secret" ? Identity(subject: "ada") : nil
        }
        let auth = OAuthOptions(token: "secret")
        let caller = try await Client.connect(url: listener.url, auth: auth).use { try await $0.callTool("whoami").text }
        #expect(caller == "ada")
        let refused = await failure { try await Client.connect(url: listener.url, auth: OAuthOptions(token: "wrong")) }
        #expect(refused?.kind == .authorizationRequired && refused?.httpStatus == 401)
        try await listener.close()
        try await listener.join()
    }

    @Test func aGroupRoutesToItsServers() async throws {
        let servers = [Server("a", version: "1"), Server("b", version: "1")]
        for server in servers { try server.tool("name") { _, _ in server.info.name } }
        let clients = [try await Client.connect(to: servers[0]), try await Client.connect(to: servers[1])]
        let group = try await ClientGroup.connect(["a": .client(clients[0]), "b": .client(clients[1])])
        #expect(try await group.callTool("b__name").text == "b")
        #expect(try await group.servers().map(\.name) == ["a", "b"])
        try await group.removeServer("a")
        #expect(try await group.listTools().map(\.name) == ["b__name"])
        try await group.close()
        #expect(try await clients[0].callTool("name").text == "a")
        for client in clients { try await client.close() }
    }

    @Test func aGroupIsClosedAfterItsUse() async throws {
        let server = Server("a", version: "1")
        try server.tool("name") { _, _ in "a" }
        let client = try await Client.connect(to: server)
        let used = try await ClientGroup.connect(["a": .client(client)])
        let text = try await used.use { group in try await group.callTool("a__name").text }
        #expect(text == "a" && !used.isConnected && client.isConnected)
        let failed = try await ClientGroup.connect(["a": .client(client)])
        await #expect(throws: ToolError.self) {
            try await failed.use { _ in throw ToolError("no use") }
        }
        #expect(!failed.isConnected)
        try await client.close()
    }

    @Test func programsProvideTheirOwnStoreAndTransport() async throws {
        #expect(try await checkStore(MemoryStore()) == [])
        let error = await failure { try await Client.connect(transport: BrokenTransport()) }
        #expect(error?.kind == .transport && error?.message.contains("NoCable") == true)
    }

    @Test func aMissingProgramIsATransportError() async throws {
        let error = await failure { try await Client.connect(command: ["/no/such/program"]) }
        #expect(error?.kind == .transport && error?.reason == .notStarted)
    }

    @Test func aClientKnowsTheProcessThatRuns() async throws {
        let command = commandOfServer(answering: "ping", with: "{}")
        let client = try await Client.connect(command: command, options: ClientOptions(revision: .v2025_06_18))
        let first = try #require(client.pid)
        #expect(client.serverInfo?.name == "test")
        kill(pid_t(first), SIGKILL)
        for _ in 0..<100 where [nil, first].contains(client.pid) { _ = await failure { try await client.ping() } }
        #expect(![nil, first].contains(client.pid))
        try await client.close()
        #expect(client.pid == nil && client.serverInfo?.name == "test")
    }
}

@available(macOS 15, iOS 18, *)
private final class QueueExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "test")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private struct BrokenTransport: Transport {
    struct NoCable: Error {}

    func connect() async throws { throw NoCable() }
    func send(message: String) async throws {}
    func receive() async throws -> String? { nil }
    func close() async throws {}
}

/// A store that keeps nothing beyond the process.
private actor MemoryStore: Store {
    private var texts: [String: (text: String, until: ContinuousClock.Instant)] = [:]
    private var logs: [String: (entries: [StoredEntry], until: ContinuousClock.Instant)] = [:]
    private var last = 0

    func get(key: String) -> String? { texts[key].flatMap { $0.until > .now ? $0.text : nil } }
    func put(key: String, text: String, keepFor: Duration) { texts[key] = (text, .now + keepFor) }

    func putIf(key: String, expected: String?, text: String, keepFor: Duration) -> Bool {
        guard get(key: key) == expected else { return false }
        put(key: key, text: text, keepFor: keepFor)
        return true
    }

    func remove(key: String) {
        texts[key] = nil
        logs[key] = nil
    }

    func append(log: String, entry: String, maxEntries: Int, keepFor: Duration) -> Int {
        last += 1
        let kept = read(log: log, after: 0, limit: .max, wait: .zero) + [StoredEntry(position: last, text: entry)]
        logs[log] = (Array(kept.suffix(maxEntries)), .now + keepFor)
        return last
    }

    func read(log: String, after: Int, limit: Int, wait: Duration) -> [StoredEntry] {
        guard let found = logs[log], found.until > .now else { return [] }
        return Array(found.entries.filter { $0.position > after }.prefix(limit))
    }
}
