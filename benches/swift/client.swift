// The bench client in Swift: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL
//
// With INFLIGHT `resource`, it reads a resource N times.
import Foundation
import Trunkline

/// Characters of base64 in the resource.
private let blobSize = 16 << 20

@main
struct Main {
    // Waiting for a line blocks the main thread, and none of those that run tasks.
    @MainActor static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 3, let calls = Int(arguments[1]) else { fail("usage: client N INFLIGHT -- COMMAND... | URL") }
        let inFlight = Int(arguments[2])
        try await connect(Array(arguments[3...])).use { client in
            if inFlight != nil { for number in 0..<200 { try await call(client, number) } }
            say("READY")
            _ = readLine()
            if let inFlight {
                try await callConcurrently(client, calls, inFlight)
            } else {
                for _ in 0..<calls { try await read(client) }
            }
            say("DONE")
            while readLine() != nil {}
        }
    }
}

/// An error that leaves `main` is a crash in Swift, whose trace takes half a minute.
private func fail(_ problem: String) -> Never {
    FileHandle.standardError.write(Data("\(problem)\n".utf8))
    exit(1)
}

private func connect(_ target: [String]) async throws -> Client {
    let options = ClientOptions(revision: .v2025_11_25)
    return target[0] == "--"
        ? try await Client.connect(command: Array(target.dropFirst()), options: options)
        : try await Client.connect(url: target[0], options: options)
}

private func callConcurrently(_ client: Client, _ calls: Int, _ inFlight: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for first in 0..<inFlight {
            group.addTask { for number in stride(from: first, to: calls, by: inFlight) { try await call(client, number) } }
        }
        try await group.waitForAll()
    }
}

private func call(_ client: Client, _ number: Int) async throws {
    let text = try await client.callTool("echo", ["message": "m\(number)"]).text
    guard text == "m\(number)" else { fail("wrong text: \(text)") }
}

private func read(_ client: Client) async throws {
    guard case .blob(let contents) = try await client.readResource("bench:blob").contents.first, contents.blob.utf8.count == blobSize else {
        fail("wrong contents")
    }
}

private func say(_ word: String) {
    print(word)
    fflush(nil)
}
