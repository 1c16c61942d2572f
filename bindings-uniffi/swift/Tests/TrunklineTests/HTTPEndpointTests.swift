import Foundation
import Testing

@testable import Trunkline

private enum Request {
    @TaskLocal static var user: String?
}

/// Requests to a server without a socket, as a web framework passes them.
@Suite(.timeLimit(.minutes(1))) struct HTTPEndpointTests {
    private let modern = "2026-07-28"

    private func head(_ tool: String, _ more: (name: String, value: String)...) -> HTTPEndpoint.Request {
        let headers: [(name: String, value: String)] = [
            ("content-type", "application/json"), ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", modern), ("mcp-method", "tools/call"), ("mcp-name", tool),
        ]
        let host = more.contains { $0.name == "host" } ? [] : [(name: "host", value: "localhost")]
        return HTTPEndpoint.Request(method: "POST", path: "/mcp", headers: host + headers + more)
    }

    private func body(_ tool: String) -> Data {
        let meta: JSONObject = [
            "io.modelcontextprotocol/protocolVersion": .string(modern), "io.modelcontextprotocol/clientCapabilities": [:],
            "io.modelcontextprotocol/logLevel": "info",
        ]
        let params: JSONObject = ["name": .string(tool), "arguments": [:], "_meta": .object(meta)]
        return message("tools/call", params, id: 1)
    }

    private func message(_ method: String, _ params: JSONObject, id: Int? = nil) -> Data {
        var message: JSONObject = ["jsonrpc": "2.0", "method": .string(method), "params": .object(params)]
        message["id"] = id.map(JSON.integer)
        return Data(JSON.object(message).description.utf8)
    }

    private func text(_ response: HTTPEndpoint.Response) async throws -> String {
        var all = Data()
        for try await chunk in response.body { all.append(chunk) }
        return String(decoding: all, as: UTF8.self)
    }

    private func header(_ name: String, of response: HTTPEndpoint.Response) -> String? {
        response.headers.first { $0.name.lowercased() == name }?.value
    }

    @Test func requestsAreAnsweredAndItOpensAgain() async throws {
        let server = Server("web", version: "1")
        try server.tool("hello") { _, _ in "Hi" }
        let endpoint = try server.endpoint()
        for _ in 1...2 {
            let response = try await endpoint.handle(head("hello"), body: body("hello"))
            #expect(response.status == 200 && !response.isEmpty)
            #expect(try await text(response).contains("Hi"))
            let wrong = try await endpoint.handle(HTTPEndpoint.Request(method: "PUT", path: "/mcp", headers: [("host", "localhost")]))
            #expect(wrong.status == 405)
            let foreign = try await endpoint.handle(head("hello", ("host", "example.com")), body: body("hello"))
            #expect(foreign.status == 403)
            let why = try await text(foreign)
            #expect(why.contains("allowed hosts"))
            try await endpoint.close()
        }
        try await server.close()
    }

    @Test func aRefusalDoesNotWaitForTheBody() async throws {
        let server = Server("web", version: "1")
        let endpoint = try server.endpoint()
        let (never, end) = AsyncStream.makeStream(of: Data.self)
        let response = try await endpoint.handle(head("hello", ("host", "evil.example")), body: never)
        #expect(response.status == 403)
        end.finish()
        try await endpoint.close()
        try await server.close()
    }

    @Test func sessionsOfOlderRevisionsWork() async throws {
        let server = Server("web", version: "1")
        try server.tool("hello") { _, context in "Hi from \(context.revision)" }
        let endpoint = try server.endpoint(HTTPOptions(path: "/mcp"))
        let headers: [(name: String, value: String)] = [
            ("host", "localhost"), ("content-type", "application/json"), ("accept", "application/json, text/event-stream"),
        ]
        var request = HTTPEndpoint.Request(method: "POST", path: "/mcp", headers: headers)
        let params: JSONObject = [
            "protocolVersion": "2025-11-25", "capabilities": [:], "clientInfo": ["name": "test", "version": "1"],
        ]
        let opened = try await endpoint.handle(request, body: message("initialize", params, id: 1))
        let session = try #require(header("mcp-session-id", of: opened))
        _ = try await text(opened)
        request.headers += [("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")]
        #expect(try await endpoint.handle(request, body: message("notifications/initialized", [:])).status == 202)
        let called = try await endpoint.handle(request, body: message("tools/call", ["name": "hello", "arguments": [:]], id: 2))
        #expect(try await text(called).contains("Hi from 2025-11-25"))
        request.path = "/other"
        #expect(try await endpoint.handle(request).status == 404)
        try await server.close()
    }

    @Test func largeBodiesPassInParts() async throws {
        let server = Server("web", version: "1")
        try server.tool("large") { _, _ in String(repeating: "x", count: 1_000_000) }
        let endpoint = try server.endpoint()
        let whole = body("large")
        let parts = AsyncStream<ArraySlice<UInt8>> { parts in
            for start in stride(from: 0, to: whole.count, by: 7) { parts.yield(Array(whole)[start..<min(start + 7, whole.count)]) }
            parts.finish()
        }
        let response = try await endpoint.handle(head("large"), body: parts)
        #expect(try await text(response).count > 1_000_000)
        try await server.close()
    }

    @Test func theRestOfABodyThatIsTooLongIsNotRead() async throws {
        let server = Server("web", version: "1", options: ServerOptions(maxMessageBytes: 100_000))
        let endpoint = try server.endpoint()
        let endless = AsyncStream<Data>(unfolding: { Data(repeating: 32, count: 65_536) })
        #expect(try await endpoint.handle(head("large"), body: endless).status == 413)
        try await server.close()
    }

    @Test func callsInheritTaskLocalValuesAndHeaders() async throws {
        let server = Server("web", version: "1")
        try server.tool("who") { _, context in "\(Request.user ?? "") \(context.headers["x-agent"] ?? "") \(context.remoteAddress ?? "")" }
        let endpoint = try server.endpoint()
        var request = head("who", ("x-agent", "Zoë"))
        request.remoteAddress = "192.0.2.7"
        let response = try await Request.$user.withValue("Ada") { try await endpoint.handle(request, body: body("who")) }
        let who = try await text(response)
        // Headers have one character per byte, as over a socket.
        #expect(who.contains("Ada Zo\u{C3}\u{AB} 192.0.2.7"))
        try await server.close()
    }

    @Test func requestsNeedATokenThatTheVerifierKnows() async throws {
        let server = Server("web", version: "1")
        try server.tool("who") { _, context in context.auth?.subject ?? "" }
        let auth = AuthOptions(resource: "http://localhost/mcp", authorizationServers: ["https://login.example.com"])
        let endpoint = try server.endpoint(auth: auth) { facts in facts.token == "secret" ? Identity(subject: "Ada") : nil }
        let refused = try await endpoint.handle(head("who"), body: body("who"))
        #expect(refused.status == 401 && header("www-authenticate", of: refused) != nil)
        let served = try await endpoint.handle(head("who", ("authorization", "Bearer secret")), body: body("who"))
        #expect(try await text(served).contains("Ada"))
        try await server.close()
    }

    /// A tool that has started its response and does not end it.
    @available(*, deprecated, message: "for older revisions")
    private func endless() throws -> (server: Server, started: Latest<Bool>, cancelled: Latest<Bool>) {
        let (started, cancelled) = (Latest<Bool>(), Latest<Bool>())
        let server = Server("web", version: "1")
        try server.tool("endless") { _, context in
            try await context.info("started")
            started.set(true)
            do { try await Task.sleep(for: .seconds(60)) } catch { cancelled.set(true) }
            return "late"
        }
        return (server, started, cancelled)
    }

    @available(*, deprecated, message: "for older revisions")
    @Test(arguments: [true, false]) func aResponseThatNobodyReadsCancelsItsCall(isClosed: Bool) async throws {
        let (server, started, cancelled) = try endless()
        let endpoint = try server.endpoint()
        var response: HTTPEndpoint.Response? = try await endpoint.handle(head("endless"), body: body("endless"))
        await started.wait()
        #expect(response?.status == 200 && cancelled.value == nil)
        // The last reference closes it, too.
        if isClosed { response?.body.close() } else { response = nil }
        await cancelled.wait()
        #expect((response == nil) != isClosed)
        try await server.close()
    }

    @available(*, deprecated, message: "for older revisions")
    @Test func cancellingATaskCancelsItsRequest() async throws {
        let (server, started, cancelled) = try endless()
        let endpoint = try server.endpoint()
        let reading = Task { try await text(try await endpoint.handle(head("endless"), body: body("endless"))) }
        await started.wait()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        await cancelled.wait()
        try await server.close()
    }

    @Test func aResponseThatIsCutShortDoesNotLookComplete() async throws {
        let server = Server("web", version: "1")
        try server.tool("large") { _, _ in String(repeating: "x", count: 1_000_000) }
        let response = try await server.endpoint().handle(head("large"), body: body("large"))
        try await server.close(deadline: .zero)
        #expect(await failure { try await text(response) }?.kind == .closed)
    }

    @Test func cancellingATaskEndsAnEndpointInTheForeground() async throws {
        let server = Server("web", version: "1")
        try server.tool("hello") { _, _ in "Hi" }
        let endpoint = try server.endpoint()
        #expect(try await endpoint.handle(head("hello"), body: body("hello")).status == 200)
        let running = Task { try await endpoint.run() }
        running.cancel()
        try await running.value
        try await server.close()
    }

    @Test func aWrongOptionFailsAtOnce() async throws {
        let server = Server("web", version: "1")
        #expect(await failure { try server.endpoint(HTTPOptions(port: 80)) }?.kind == .invalidArgument)
    }
}
