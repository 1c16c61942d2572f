import Foundation
import Testing

@testable import Trunkline

/// Servers in the foreground: a signal ends all of them, so these tests run one after another.
@Suite(.serialized, .timeLimit(.minutes(1))) struct ForegroundTests {
    @Test func eachSignalEndsWhatIsInTheForeground() async throws {
        for _ in 0..<20 {
            let (closed, other) = (Latest<Bool>(), Latest<Bool>())
            try await endedBySignals({ closed.set(true) }) { _ in
                try await endedBySignals({ other.set(true) }) { _ in
                    kill(getpid(), SIGTERM)
                    await closed.wait()
                    await other.wait()
                }
            }
            #expect(closed.value == true && other.value == true)
        }
    }

    @Test func cancellingATaskEndsItsServerWheneverItHappens() async throws {
        for delay in 0..<20 {
            let server = Server("test", version: "1")
            let serving = Task { try await server.serveHTTP(HTTPOptions(port: 0)) }
            try await Task.sleep(for: .milliseconds(delay))
            serving.cancel()
            _ = await serving.result
        }
    }

    @Test func programsStartedByAForegroundServerEndWithSIGTERM() async throws {
        let server = Server("test", version: "1")
        let listener = try await server.listen(HTTPOptions(port: 0))
        try await endedBySignals({ try await listener.close() }) { _ in
            let program = Process()
            program.executableURL = URL(fileURLWithPath: "/bin/sh")
            program.arguments = ["-c", "kill -TERM $$; sleep 1"]
            try program.run()
            program.waitUntilExit()
            #expect(program.terminationReason == .uncaughtSignal && program.terminationStatus == SIGTERM)
        }
        try await listener.close()
    }

    @Test func theEndOfAServerInTheForegroundLeavesSignalsToTheOthers() async throws {
        try await endedBySignals({}) { _ in
            try await endedBySignals({}) { #expect($0) }
            #expect(!takeSignal(SIGTERM))
        }
    }

    @Test func cancellingATaskEndsWhatItServesAndWaitsFor() async throws {
        let server = Server("test", version: "1")
        let listener = try await server.listen(HTTPOptions(port: 0))
        let waiting = Task { try await listener.join() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let serving = Task { try await listener.run() }
        try await Client.connect(url: listener.url).close()
        serving.cancel()
        try await serving.value
        let error = await failure { try await Client.connect(url: listener.url) }
        #expect(error?.kind == .transport && error?.reason == .refused)
    }
}
