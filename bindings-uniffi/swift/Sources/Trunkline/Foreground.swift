import Dispatch
import Foundation
import TrunklineNative

/// What closes each server in the foreground. A signal closes all of them.
private let foreground = Locked(Foreground())

private struct Foreground {
    private var closes: [Int: @Sendable () -> Void] = [:]

    /// The signals that are handled; empty after the first one.
    private var sources: [Int32: any DispatchSourceSignal] = [:]

    /// Whether signals are handled here: those that the program handles itself are left to it.
    var handlesSignals: Bool { !sources.isEmpty }

    mutating func add(_ close: @escaping @Sendable () -> Void) -> Int {
        if sources.isEmpty { for number in [SIGINT, SIGTERM] where takeSignal(number) { handle(number) } }
        let id = (closes.keys.max() ?? 0) + 1
        closes[id] = close
        return id
    }

    mutating func remove(_ id: Int) {
        closes[id] = nil
        if closes.isEmpty { restore() }
    }

    private mutating func handle(_ number: Int32) {
        let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue.global(qos: .userInteractive))
        source.setEventHandler {
            let closes = foreground.with { foreground in
                foreground.restore()
                return foreground.closes.values
            }
            for close in closes { close() }
        }
        source.resume()
        sources[number] = source
    }

    private mutating func restore() {
        for (number, source) in sources {
            source.cancel()
            signal(number, SIG_DFL)
        }
        sources = [:]
    }
}

/// Runs `serve` to its end, which gets whether signals are handled. A signal, or the cancellation of
/// the task, calls `close`; a second signal has its default effect.
func endedBySignals(_ close: @escaping @Sendable () async throws -> Void, serve: (Bool) async throws -> Void) async throws {
    let end: @Sendable () -> Void = {
        Task(priority: .high) {
            // What cannot be closed has ended.
            do { try await close() } catch { logError("closing failed", error) }
        }
    }
    let (id, handlesSignals) = foreground.with { ($0.add(end), $0.handlesSignals) }
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
