import Foundation
import Testing

@testable import Trunkline

private struct Sum: Codable {
    var a: Int
    var b: Int
}

private struct Total: Codable, Equatable {
    var total: Int
}

private enum Trace {
    @TaskLocal static var id: String?
    @TaskLocal static var object: Latest<Int>?
}

/// Calls between a client and a server in memory.
@Suite(.timeLimit(.minutes(1))) struct CallsTests {
    private func connected(
        _ server: Server, options: ClientOptions = ClientOptions(), handlers: ClientHandlers = ClientHandlers(),
        _ work: @Sendable (Client) async throws -> Void
    ) async throws {
        try await Client.connect(to: server, options: options, handlers: handlers).use(work)
        try await server.close()
    }

    @Test func structuresAreArgumentsAndResults() async throws {
        let server = Server("test", version: "1")
        try server.tool("add", returning: Total.self) { (it: Sum, _) in Total(total: it.a + it.b) }
        try await connected(server) { client in
            #expect(try await client.callTool("add", Sum(a: 2, b: 3)).decoded(as: Total.self) == Total(total: 5))
            #expect(try await client.callTool("add", ["a": 2, "b": "x"]).isError)
            #expect(try await client.callTool("add", ["a": 2, "b": 3, "c": 4]).isError)
            let tool = try await client.listTools().first
            #expect(tool?.inputSchema["required"] == ["a", "b"] && tool?.outputSchema?["required"] == ["total"])
        }
    }

    @Test func recordsOfTheLogHaveFields() async throws {
        let found = Latest<LogRecord>()
        Log.receive { if $0.fields["tool"] == "logged" { found.set($0) } }
        let server = Server("test", version: "1")
        try server.tool("logged") { _, _ in throw CocoaError(.fileNoSuchFile) }
        try await connected(server) { client in
            #expect(try await client.callTool("logged").isError)
        }
        await found.wait()
        let record = try #require(found.value)
        #expect(record.level == "error" && record.target == "trunkline::server" && record.event == "a tool failed")
        let reason = try #require(record.fields["error"]?.string)
        #expect(record.message == "tool logged failed: \(reason)")
    }

    @Test func recordsOfTheCoreHaveFields() throws {
        let text = """
            [{"level":"warn","target":"trunkline::client::calls","message":"left out (item=t, number=3)",
            "event":"left out","fields":{"item":"t","number":3}}]
            """
        let records: [LogRecord] = try ValueDecoder.model(JSON(parsing: text))
        #expect(records.map(\.event) == ["left out"] && records[0].fields == ["item": "t", "number": 3])
    }

    @Test func failuresReachTheCallerAsTheirKindSays() async throws {
        let internals = Latest<String>()
        let server = Server("test", version: "1", onError: { error, _ in internals.set("\(error)") })
        try server.tool("tool") { _, _ in throw ToolError("no such city") }
        try server.tool("protocol") { _, _ in throw TrunklineError(.protocol, "teapot", code: -32_000, data: ["a": 1]) }
        try server.tool("internal") { _, _ in throw CocoaError(.fileNoSuchFile) }
        try server.tool("deep") { _, _ in throw TrunklineError(.protocol, "deep", data: (0..<200).reduce(1) { json, _ in [json] }) }
        try await connected(server) { client in
            let result = try await client.callTool("tool")
            #expect(result.isError && result.text == "no such city")
            let error = await failure { try await client.callTool("protocol") }
            #expect(error?.kind == .protocol && error?.code == -32_000 && error?.data == ["a": 1])
            let hidden = try await client.callTool("internal")
            #expect(hidden.isError && !hidden.text.contains("file") && internals.value != nil)
            #expect(await failure { try await client.callTool("unknown") }?.kind == .protocol)
            // Its data nests deeper than a message may.
            let unsent = try await client.callTool("deep", options: RequestOptions(timeout: .seconds(10)))
            #expect(unsent.isError)
        }
    }

    @Test func modelsGetErrorsThatNameTheMember() async throws {
        struct Day: Codable { var date: Date, weights: [Double]? }
        let server = Server("test", version: "1", options: ServerOptions(debug: true))
        try server.tool("day") { (day: Day, _) in Day(date: day.date, weights: [1, .nan]) }
        try await connected(server) { client in
            let refused = try await client.callTool("day", ["date": "yesterday"])
            #expect(refused.isError && refused.text.contains("/date: a date in ISO 8601 is expected"), "\(refused.text)")
            #expect(!refused.text.contains("DecodingError"), "\(refused.text)")
            let failed = try await client.callTool("day", ["date": "2026-01-01T00:00:00Z"])
            #expect(failed.text.contains("/weights/1: JSON has no nan"), "\(failed.text)")
        }
    }

    @Test func argumentsAndResultsMayBeAbsent() async throws {
        let runs = Latest<Int>()
        let server = Server("test", version: "1")
        try server.tool("nothing") { _, _ in runs.set(1) }
        try server.tool("sum") { (sum: Sum, _) in runs.set(sum.a + sum.b) }
        try server.tool("total", returning: Total.self) { _, _ in Total(total: 3) }
        try server.tool("any") { (given: JSONObject, _) in given.names }
        try server.tool("none") { _, _ in "none" }
        try server.tool("strings") { _, _ in [String]() }
        try server.tool("blocks") { _, _ in [ContentBlock]() }
        try await connected(server) { client in
            #expect(try await client.callTool("strings").text == "[]")
            #expect(try await client.callTool("blocks").content.isEmpty)
            let nothing = try await client.callTool("nothing")
            #expect(nothing.content.isEmpty && runs.value == 1)
            #expect(try await client.callTool("sum", ["a": 2, "b": 3]).structuredContent == nil && runs.value == 5)
            #expect(try await client.callTool("total").decoded(as: Total.self) == Total(total: 3))
            #expect(try await client.callTool("any", ["b": 1, "a": 2]).text == #"["b","a"]"#)
            #expect(try await client.callTool("none", ["a": 1]).isError)
        }
    }

    @Test func aSchemaMayBeGivenForTypedArguments() async throws {
        let schema: JSONObject = ["type": "object", "properties": ["a": ["type": "integer", "maximum": 5], "b": ["type": "integer"]]]
        let server = Server("test", version: "1")
        try server.tool("text", inputSchema: schema) { (sum: Sum, _) in "\(sum.a + sum.b)" }
        try server.tool("add", inputSchema: schema, returning: Total.self) { (sum: Sum, _) in Total(total: sum.a + sum.b) }
        try server.tool("raw", inputSchema: schema) { given, _ in given["a"] ?? .null }
        try await connected(server) { client in
            let tools = try await client.listTools()
            #expect(tools.allSatisfy { $0.inputSchema == schema })
            #expect(try await client.callTool("text", ["a": 2, "b": 3]).text == "5")
            #expect(try await client.callTool("add", ["a": 2, "b": 3]).decoded(as: Total.self) == Total(total: 5))
            #expect(try await client.callTool("add", ["a": 6, "b": 3]).isError)
            #expect(try await client.callTool("raw", ["a": 2]).text == "2")
        }
    }

    @Test func onlyResourcesReturnBytes() async throws {
        let problems = Latest<String>()
        let server = Server("test", version: "1", onError: { error, _ in problems.set("\(error)") })
        try server.tool("bytes") { _, _ in Data([0, 255]) }
        try server.resource("bytes", uri: "test://bytes") { _, _ in Data([0, 255]) }
        try await connected(server) { client in
            #expect(try await client.callTool("bytes").isError)
            #expect(problems.value?.contains("only resources return bytes") == true)
            let contents = try await client.readResource("test://bytes").contents
            guard case .blob(let blob) = contents.first else { throw ToolError("no bytes") }
            #expect(blob.blob == "AP8=")
        }
    }

    @Test func aResultWithoutStructuredContentSaysSo() async throws {
        let server = Server("test", version: "1")
        try server.tool("text") { _, _ in "a" }
        try await connected(server) { client in
            let result = try await client.callTool("text")
            let error = await failure { try result.decoded(as: Int.self) }
            #expect(error?.kind == .transport && error?.message.contains("no output schema") == true)
            #expect(try result.decoded(as: String.self) == "a")
        }
    }

    @Test func anInvalidResponseIsATransportError() async throws {
        let command = commandOfServer(answering: "tools/list", with: #"{"tools":[{"title":"has no name"}]}"#)
        let client = try await Client.connect(command: command, options: ClientOptions(revision: .v2025_06_18))
        let error = await failure { try await client.listTools() }
        #expect(error?.kind == .transport && error?.message == "invalid response: /tools/0: name is missing")
        try await client.close()
    }

    @Test func theTextOfAResultIsAString() async throws {
        let server = Server("test", version: "1")
        try server.tool("total", returning: Total.self) { _, _ in Total(total: 3) }
        try server.tool("text", returning: String.self) { _, _ in "a" }
        try server.tool("null", returning: String?.self) { _, _ in nil }
        try await connected(server) { client in
            let total: String = try await client.callTool("total").decoded()
            let text: String = try await client.callTool("text").decoded()
            let null: String? = try await client.callTool("null").decoded()
            #expect(total == #"{"total":3}"# && text == "a" && null == nil)
        }
    }

    @Test func cancellingATaskCancelsItsHandler() async throws {
        let started = Latest<Bool>()
        let cancelled = Latest<Bool>()
        let server = Server("test", version: "1")
        try server.tool("wait") { _, _ in
            started.set(true)
            do {
                try await Task.sleep(for: .seconds(30))
            } catch {
                cancelled.set(true)
                throw error
            }
            return "late"
        }
        try await connected(server) { client in
            let call = Task { try await client.callTool("wait") }
            await started.wait()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            await cancelled.wait()
            let error = await failure { try await client.callTool("wait", options: RequestOptions(timeout: .milliseconds(50))) }
            #expect(error?.kind == .timeout)
        }
    }

    @Test func progressPrecedesTheResult() async throws {
        let server = Server("test", version: "1")
        try server.tool("work") { _, context in
            for step in 1...100 { try await context.progress(Double(step), total: 100) }
            return "done"
        }
        try await connected(server) { client in
            var last: ToolEvent?
            var reports: [Double] = []
            let seen = Latest<Double>()
            let options = RequestOptions(onProgress: { seen.set($0.progress) })
            for try await event in client.callToolEvents("work", options: options) {
                if case .progress(let report) = event { reports.append(report.progress) }
                last = event
            }
            let result: CallToolResult? = if case .result(let result) = last { result } else { nil }
            #expect(result?.text == "done" && reports == reports.sorted())
            #expect(seen.value == 100)
            let latest = Latest<Double>()
            try await client.callTool("work", options: RequestOptions(onProgress: { latest.set($0.progress) }))
            #expect(latest.value == 100)
        }
    }

    @Test func aCancelledCallDoesNotWaitForItsReportsOfProgress() async throws {
        let reported = Latest<Double>()
        let server = Server("test", version: "1")
        try server.tool("work") { _, context in
            try await context.progress(1)
            return "done"
        }
        try await connected(server) { client in
            let report: @Sendable (ProgressReport) async -> Void = {
                reported.set($0.progress)
                try? await Task.sleep(for: .seconds(60))
            }
            let call = Task { try await client.callTool("work", options: RequestOptions(onProgress: report)) }
            await reported.wait()
            call.cancel()
            _ = await call.result
            #expect(reported.value == 1)
        }
    }

    @Test func aCallThatTimesOutDoesNotWaitForItsReportsOfProgress() async throws {
        let server = Server("test", version: "1")
        try server.tool("work") { _, context in
            try await context.progress(1)
            try await Task.sleep(for: .seconds(60))
            return "done"
        }
        try await connected(server) { client in
            let report: @Sendable (ProgressReport) async -> Void = { _ in
                // Ignores cancellation.
                await Task.detached { try? await Task.sleep(for: .seconds(60)) }.value
            }
            var error: TrunklineError?
            let elapsed = await ContinuousClock().measure {
                error = await failure {
                    try await client.callTool("work", options: RequestOptions(timeout: .milliseconds(200), onProgress: report))
                }
            }
            #expect(error?.kind == .timeout && elapsed < .seconds(30))
        }
    }

    @Test func paramsAndResultsThatJSONDoesNotHaveAreErrors() async throws {
        let server = Server("test", version: "1")
        try server.requestHandler("com.example/nan") { _, _ in ["value": .number(.nan)] }
        try await connected(server) { client in
            let sent = await failure { try await client.request("com.example/nan", ["value": .number(.infinity)]) }
            #expect(sent?.kind == .invalidArgument && sent?.message.contains("JSON has no inf") == true)
            let returned = await failure { try await client.request("com.example/nan") }
            #expect(returned != nil)
        }
    }

    @Test func callsInMemoryInheritTaskLocalValues() async throws {
        let server = Server("test", version: "1")
        try server.middleware("tools/call") { request, _ in
            try await Trace.$id.withValue("\(Trace.id ?? "none")+middleware") { try await request.next() }
        }
        try server.tool("trace") { _, context in "\(Trace.id ?? "none") \(Context.current === context)" }
        try await connected(server) { client in
            let text = try await Trace.$id.withValue("caller") { try await client.callTool("trace").text }
            #expect(text == "caller+middleware true")
        }
    }

    @Test(arguments: ["2025-11-25", "2026-07-28"]) func aHandlerAsksItsClientOnEveryRevision(revision: String) async throws {
        struct Name: Decodable { let name: String }
        let runs = Latest<Int>()
        let server = Server("test", version: "1")
        try server.tool("greet") { _, context in
            let work = try await context.once("work") {
                runs.set((runs.value ?? 0) + 1)
                return 7
            }
            return "\(try await context.elicit("Who?", as: Name.self).content?.name ?? "nobody") \(work)"
        }
        let handlers = ClientHandlers(onElicit: { _ in ElicitResult(action: .accept, content: ["name": "Ada"]) })
        try await connected(server, options: ClientOptions(revision: .init(rawValue: revision)), handlers: handlers) { client in
            let text = try await client.callTool("greet").text
            #expect(text == "Ada 7" && runs.value == 1)
        }
    }

    @Test(arguments: [ElicitAction.accept, .decline, .cancel]) func declineAndCancelDiffer(action: ElicitAction) async throws {
        struct Name: Decodable { let name: String }
        let server = Server("test", version: "1")
        try server.tool("greet") { _, context in
            switch try await context.elicit("Who?", as: Name.self) {
            case .accept(let name): return "accept \(name.name)"
            case .decline: return "decline"
            case .cancel: return "cancel"
            }
        }
        let content: JSONObject? = action == .accept ? ["name": "Ada"] : nil
        let handlers = ClientHandlers(onElicit: { _ in ElicitResult(action: action, content: content) })
        try await connected(server, handlers: handlers) { client in
            let text = try await client.callTool("greet").text
            #expect(text == (action == .accept ? "accept Ada" : action.rawValue))
        }
    }

    @Test func aCancelledCallerOfOnceDoesNotCancelAnother() async throws {
        let started = Latest<Bool>()
        let server = Server("test", version: "1")
        try server.tool("work") { _, context in
            let first = Task {
                try await context.once("value") { () -> Int in
                    started.set(true)
                    try await Task.sleep(for: .seconds(60))
                    return 1
                }
            }
            await started.wait()
            let second = Task { try await context.once("value") { 7 } }
            try await Task.sleep(for: .milliseconds(50))
            first.cancel()
            return "\(try await second.value)"
        }
        try await connected(server) { client in
            let result = try await client.callTool("work")
            #expect(result.text == "7")
        }
    }

    @Test func aFloodOfCallsIsBounded() async throws {
        let most = Latest<Int>()
        let running = Locked(0)
        let server = Server("test", version: "1", options: ServerOptions(maxRunning: 4, maxWaiting: 8))
        try server.tool("work") { _, _ in
            most.set(
                max(
                    most.value ?? 0,
                    running.with { running in
                        running += 1; return running
                    }))
            try await Task.sleep(for: .milliseconds(5))
            running.with { $0 -= 1 }
            return "done"
        }
        try await connected(server) { client in
            let kinds = await withTaskGroup(of: ErrorKind?.self) { group in
                for _ in 0..<200 { group.addTask { await failure { try await client.callTool("work") }?.kind } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(kinds.allSatisfy { $0 == nil || $0 == .busy } && kinds.contains(nil) && kinds.contains(.busy))
            #expect((most.value ?? 0) <= 4)
            let text = try await client.callTool("work").text
            #expect(text == "done")
        }
    }

    @Test func aServerThatNothingRefersToIsFreed() async throws {
        weak var freed: Server?
        try await {
            let server = Server("test", version: "1")
            try server.tool("echo") { (it: Sum, _) in "\(it.a)" }
            freed = server
            let text = try await Client.connect(to: server).use { try await $0.callTool("echo", ["a": 1, "b": 2]).text }
            #expect(text == "1")
        }()
        for _ in 0..<100 where freed != nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(freed == nil)
    }

    @Test func aServerKeepsWhatItProxiesAndMounts() async throws {
        let gateway = Server("gateway", version: "1")
        try await {
            let (old, inner) = (try greeter(), try greeter())
            try gateway.proxy(try await Client.connect(to: old), options: ProxyOptions(prefix: "old"))
            try gateway.mount("in", inner)
        }()
        try await connected(gateway) { client in
            let texts = [try await client.callTool("old__greet").text, try await client.callTool("in__greet").text]
            #expect(texts == ["hello", "hello"])
        }
    }

    @Test func aServerFreesWhatItNoLongerProxiesOrMounts() async throws {
        let gateway = Server("gateway", version: "1")
        weak var client: Client?
        weak var inner: Server?
        try await {
            let mounted = try greeter()
            let proxied = try await Client.connect(to: try greeter())
            (client, inner) = (proxied, mounted)
            let registrations = [try gateway.proxy(proxied), try gateway.mount("in", mounted)]
            for registration in registrations { registration.remove() }
        }()
        #expect(client == nil && inner == nil)
        try {
            let mounted = try greeter()
            inner = mounted
            try gateway.mount("in", mounted)
        }()
        #expect(inner != nil)
        try await gateway.close()
        #expect(inner == nil)
    }

    @Test func aGroupKeepsItsClients() async throws {
        let targets: Members<GroupTarget> = try await {
            ["a": .client(try await Client.connect(to: try greeter()))]
        }()
        let group = try await ClientGroup.connect(targets)
        try await {
            try await group.addServer("b", .client(try await Client.connect(to: try greeter())))
        }()
        let texts = [try await group.callTool("a__greet").text, try await group.callTool("b__greet").text]
        #expect(texts == ["hello", "hello"])
        try await group.close()
    }

    @Test func aServerThatIsNotAddedToAGroupLeavesTheOthersAlone() async throws {
        let server = try greeter()
        let group = try await ClientGroup.connect(["it": .client(try await Client.connect(to: server))])
        let other = try await Client.connect(to: server)
        #expect(await failure { try await group.addServer("it", .client(other)) }?.kind == .invalidArgument)
        #expect(try await group.callTool("it__greet").text == "hello")
        try await group.close()
    }

    @Test func aGroupFreesTheClientsThatItNoLongerHas() async throws {
        let group = try await ClientGroup.connect([:] as Members<GroupTarget>)
        weak var freed: Client?
        try await {
            let client = try await Client.connect(to: try greeter())
            freed = client
            try await group.addServer("a", .client(client))
        }()
        #expect(freed != nil)
        try await group.removeServer("a")
        #expect(freed == nil)
        try await group.close()
    }

    @Test func streamsKeepTheirClient() async throws {
        let server = try greeter()
        weak var freed: Client?
        try await {
            let subscription = try await {
                let client = try await Client.connect(to: server)
                freed = client
                return try await client.subscribe(SubscriptionFilter(tools: true))
            }()
            try server.tool("new") { _, _ in "" }
            let change = try await subscription.changes.first { _ in true }
            #expect(change?.kind == .tools)
        }()
        #expect(freed == nil)
        try await server.close()
    }

    @Test func notificationsKeepTheirClient() async throws {
        let server = try greeter()
        weak var freed: Client?
        try await {
            let notifications = try await {
                let client = try await Client.connect(to: server, options: ClientOptions(revision: "2025-11-25"))
                freed = client
                return client.notifications
            }()
            try server.tool("new") { _, _ in "" }
            let notification = await notifications.first { _ in true }
            #expect(notification?.method == "notifications/tools/list_changed")
        }()
        #expect(freed == nil)
        try await server.close()
    }

    @Test func slowReadersOfNotificationsLoseTheNewest() async {
        let (notifications, backlog) = Backlog.makeStream()
        func add(_ bytes: Int) { backlog.add(ServerNotification(method: "test", params: [:], bytes: bytes)) }
        func taken() async -> Int? { await notifications.first { _ in true }?.bytes }
        // After each, there is room again.
        for _ in 0..<2 {
            for bytes in [9_000_000, 2] { add(bytes) }
            #expect(await taken() == 9_000_000)
        }
        for bytes in Array(repeating: 1_000_000, count: 5) + [1] { add(bytes) }
        for bytes in Array(repeating: 1_000_000, count: 4) + [1] { #expect(await taken() == bytes) }
        for _ in 0...10_000 { add(1) }
        backlog.continuation.finish()
        #expect(await notifications.reduce(0) { count, _ in count + 1 } == 10_000)
    }

    @Test func notificationsEndWithTheirConnection() async throws {
        let server = try greeter()
        for _ in 0..<20 {
            let notifications = try await {
                let client = try await Client.connect(to: server)
                let notifications = client.notifications
                try await client.close()
                return notifications
            }()
            #expect(await notifications.first { _ in true } == nil)
        }
        try await server.close()
    }

    @Test func aRequestThatIsNotSentKeepsNoTaskLocalValues() async throws {
        weak var kept: Latest<Int>?
        do {
            let value = Latest<Int>()
            kept = value
            Trace.$object.withValue(value) {
                #expect(throws: ToolError.self) { try Port.shared.causing { throw ToolError("not sent") } }
            }
        }
        for _ in 0..<100 where kept != nil { try await Task.sleep(for: .milliseconds(20)) }
        #expect(kept == nil)
    }

    private func greeter() throws -> Server {
        let server = Server("greeter", version: "1")
        try server.tool("greet") { _, _ in "hello" }
        return server
    }
}

/// The error of the library that `work` throws.
func failure<T>(_ work: () async throws -> T) async -> TrunklineError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? TrunklineError
    }
}

/// A server of 2025-06-18 without features, except that it answers one method.
func commandOfServer(answering method: String, with answer: String) -> [String] {
    let script = #"""
        while read -r line; do
          id=$(printf '%s' "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
          result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}'
          case $line in *'"\#(method)"'*) result='\#(answer)' ;; esac
          [ -z "$id" ] || echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$result"'}'
        done
        """#
    return ["sh", "-c", script]
}

/// Holds the value that another task has set.
final class Latest<Value: Sendable>: Sendable {
    private let current = Locked<Value?>(nil)

    var value: Value? { current.with { $0 } }

    func set(_ value: Value) { current.with { $0 = value } }

    /// Waits until there is a value.
    func wait() async {
        while value == nil, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
