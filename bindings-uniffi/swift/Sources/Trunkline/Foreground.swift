import Foundation
import TrunklineNative

/// The functions that close the servers in the foreground. A signal calls all of them.
private let foreground = Locked(Foreground())

private struct Foreground {
    private var closes: [Int: @Sendable () -> Void] = [:]

    /// The signals that are handled here: the others are left to the program. Empty after the first
    /// signal.
    private var signals: [Int32] = []

    private static let endingSignals = [SIGINT, SIGTERM]

    /// True if the core may handle the signals, too: it handles both.
    var handlesAllSignals: Bool { signals == Self.endingSignals }

    mutating func add(_ close: @escaping @Sendable () -> Void) -> Int {
        if signals.isEmpty, signalPipe >= 0 { signals = Self.endingSignals.filter { takeSignal($0, writeSignal) } }
        let id = (closes.keys.max() ?? 0) + 1
        closes[id] = close
        return id
    }

    mutating func remove(_ id: Int) {
        closes[id] = nil
        if closes.isEmpty { restore() }
    }

    /// Leaves the next signal to the system. Returns what this one closes.
    mutating func receiveSignal() -> [@Sendable () -> Void] {
        restore()
        return Array(closes.values)
    }

    private mutating func restore() {
        for one in signals { signal(one, SIG_DFL) }
        signals = []
    }
}

/// The end of a pipe to the thread that receives signals. A source of Dispatch would miss some: it
/// is removed later than it is cancelled, and the next one for the signal is then not installed.
private let signalPipe: Int32 = {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return -1 }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    Thread.detachNewThread { [receiving = ends[0]] in
        var byte: UInt8 = 0
        while true {
            guard read(receiving, &byte, 1) == 1 else { continue }
            for close in foreground.with({ $0.receiveSignal() }) { close() }
        }
    }
    return ends[1]
}()

private func writeSignal(_ number: Int32) {
    let before = errno
    var byte: UInt8 = 0
    _ = write(signalPipe, &byte, 1)
    errno = before
}

/// Runs `serve` to its end, which gets whether signals are handled. A signal, or the cancellation
/// of the task, calls `close`; a second signal has its default effect.
func endedBySignals(_ close: @escaping @Sendable () async throws -> Void, serve: (Bool) async throws -> Void) async throws {
    let end: @Sendable () -> Void = {
        Task(priority: .high) {
            // A server that cannot be closed has ended.
            do { try await close() } catch { logError("closing failed", error) }
        }
    }
    let (id, handlesSignals) = foreground.with { ($0.add(end), $0.handlesAllSignals) }
    defer { foreground.with { $0.remove(id) } }
    try await withTaskCancellationHandler(operation: { try await serve(handlesSignals) }, onCancel: end)
}

extension OpenHandle {
    /// Waits for the end of what the program serves in the foreground. Exits if handlers block all
    /// threads of Swift's tasks, on which the program would continue.
    func endInForeground() async throws {
        atEnd {
            let continues = Locked(false)
            Task.detached { continues.with { $0 = true } }
            after(0.5) {
                guard !continues.with({ $0 }), Port.shared.calls.areRunning else { return }
                writeStderr(text: "trunkline: exiting while handlers are still blocking: their server has stopped\n")
                // A handler may also block the exit handlers of the process.
                after(0.5) { _exit(1) }
                exit(1)
            }
        }
        try await end(isCancellable: false)
    }
}

/// Runs `work` on a thread of its own.
private func after(_ seconds: Double, _ work: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
        Thread.sleep(forTimeInterval: seconds)
        work()
    }
}
