// A custom store: dictionaries here, a database in production.
import Trunkline

actor MapStore: Store {
    private var texts: [String: (text: String, ends: ContinuousClock.Instant)] = [:]
    private var logs: [String: (entries: [StoredEntry], ends: ContinuousClock.Instant)] = [:]
    private var position = 0

    func get(key: String) -> String? {
        guard let kept = texts[key], kept.ends > .now else { return nil }
        return kept.text
    }

    func put(key: String, text: String, keepFor: Duration) { texts[key] = (text, .now + keepFor) }

    // With a database, use a transaction.
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
        position += 1
        let entries = entries(log) + [StoredEntry(position: position, text: entry)]
        logs[log] = (entries.suffix(maxEntries), .now + keepFor)
        return position
    }

    // A read need not wait for entries.
    func read(log: String, after: Int, limit: Int, wait: Duration) -> [StoredEntry] {
        Array(entries(log).filter { $0.position > after }.prefix(limit))
    }

    private func entries(_ log: String) -> [StoredEntry] {
        guard let kept = logs[log], kept.ends > .now else { return [] }
        return kept.entries
    }
}

@main
struct Main {
    static func main() async throws {
        let reports = Server("reports", version: "1.0.0", store: MapStore())

        let findings = try await checkStore(MapStore())
        print(findings.isEmpty ? "The store keeps its contract." : findings.joined(separator: "\n"))
        try await reports.close()
    }
}
