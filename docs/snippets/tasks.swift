// A tool called as a task: the client follows its status, then gets the result.
import Trunkline

struct Report: Decodable {
    let year: Int
}

@main
struct Main {
    static func main() async throws {
        let options = ServerOptions(taskPollInterval: .milliseconds(50))
        let reports = Server("reports", version: "1.0.0", options: options)
        let optional = ToolOptions(task: .optional)
        try reports.tool("report", description: "Write the report of a year.", options: optional) { (report: Report, context) in
            try context.setTaskMessage("half of it is written")
            try await Task.sleep(for: .milliseconds(100))
            return "The report of \(report.year)"
        }

        try await Client.connect(to: reports).use { client in
            let task = try await client.startTask("report", ["year": 2026])
            for try await state in task.states where state.status != .working {
                print(state.status)  // with `statusMessage`, for people
            }
            print(try await task.result().text)
        }
    }
}
