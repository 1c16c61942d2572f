// Log messages for the client, and the library's own log.
import Foundation
import Trunkline

@available(*, deprecated, message: "for older revisions")
@main
struct Main {
    static func main() async throws {
        // Trunkline logs to standard error, or to a logger such as that of swift-log.
        Log.receive { record in
            guard ["error", "warn"].contains(record.level) else { return }
            FileHandle.standardError.write(Data("\(record.message)\n".utf8))
        }

        let backup = Server("backup", version: "1.0.0")
        try backup.tool("backup", description: "Back up all files.") { _, context in
            try await context.log(.debug, "looking for changes")
            try await context.log(.info, ["files": 3], logger: "copier")
            return "done"
        }

        let (messages, arrivals) = AsyncStream.makeStream(of: LogMessage.self)
        let options = ClientOptions(logLevel: .info)
        let handlers = ClientHandlers(onLog: { _ = arrivals.yield($0) })
        try await Client.connect(to: backup, options: options, handlers: handlers).use { client in
            let result = try await client.callTool("backup")
            for await message in messages.prefix(1) {
                print("\(message.level) of the \(message.logger ?? ""): \(message.data?["files"] ?? 0) files")
            }
            print(result.text)
        }
    }
}
