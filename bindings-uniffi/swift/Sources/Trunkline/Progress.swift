/// Reports the progress of a request, one report at a time. If reports arrive faster than they are
/// handled, only the latest is delivered; the last one precedes the reply.
final class ProgressReporter: Sendable {
    private struct State {
        var report: (@Sendable (ProgressReport) async -> Void)?
        var latest: ProgressReport?
        var reporting: Task<Void, Never>?
    }

    private let state = Locked(State())

    func begin(_ report: @escaping @Sendable (ProgressReport) async -> Void) {
        state.with { state in
            state.report = report
            start(&state)
        }
    }

    func receive(_ progress: ProgressReport) {
        state.with { state in
            state.latest = progress
            start(&state)
        }
    }

    /// Waits for the report of what has arrived.
    func end() async {
        await state.with { $0.reporting }?.value
    }

    private func start(_ state: inout State) {
        guard let report = state.report, state.latest != nil, state.reporting == nil else { return }
        state.reporting = Task {
            while let progress = next() { await report(progress) }
        }
    }

    private func next() -> ProgressReport? {
        state.with { state in
            defer { state.latest = nil }
            if state.latest == nil { state.reporting = nil }
            return state.latest
        }
    }
}
