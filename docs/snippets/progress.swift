// A tool that reports progress, and a client that cancels another one.
import Trunkline

struct Job: Decodable {
    let files: Int
}

@main
struct Main {
    static func main() async throws {
        let (started, starts) = AsyncStream.makeStream(of: Void.self)
        let (stopped, stops) = AsyncStream.makeStream(of: Void.self)
        let files = Server("files", version: "1.0.0")
        try files.tool("copy", description: "Copy files.") { (job: Job, context) in
            for number in stride(from: 1, through: job.files, by: 1) {
                try await context.progress(Double(number), total: Double(job.files), message: "file \(number)")
            }
            return "\(job.files) files are copied."
        }
        try files.tool("watch", description: "Watch a folder until the caller cancels.") { _, _ in
            defer {
                print("stopped watching")
                stops.finish()
            }
            starts.finish()
            while true { try await Task.sleep(for: .seconds(60)) }
        }

        try await Client.connect(to: files).use { client in
            let options = RequestOptions(onProgress: { report in
                // Reports may be skipped if they arrive too fast, except the last.
                guard let total = report.total, report.progress == total else { return }
                print("\(Int(report.progress)) of \(Int(total)): \(report.message ?? "")")
            })
            print(try await client.callTool("copy", ["files": 2], options: options).text)

            let call = Task { try await client.callTool("watch") }
            for await _ in started {}
            call.cancel()
            for await _ in stopped {}
        }
    }
}
