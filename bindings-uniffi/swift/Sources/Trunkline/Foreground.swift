import Dispatch
import Foundation
import TrunklineNative

/// Runs `serve` to its end. A signal, or the cancellation of the task, calls `close`; a second
/// signal has its default effect.
func endedBySignals(_ close: @escaping @Sendable () async throws -> Void, serve: () async throws -> Void) async throws {
    let signals = [SIGINT, SIGTERM]
    let isClosing = Locked(false)
    let end: @Sendable () -> Void = {
        Task(priority: .high) {
            // What cannot be closed has ended.
            do { try await close() } catch { logError("closing failed", error) }
        }
    }
    let sources = signals.map { number in
        // A child process would inherit `SIG_IGN`, but not a handler.
        signal(number) { _ in }
        let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue.global(qos: .userInteractive))
        source.setEventHandler {
            guard !isClosing.exchange(true) else { return }
            for one in signals { signal(one, SIG_DFL) }
            end()
        }
        source.resume()
        return source
    }
    defer {
        for source in sources { source.cancel() }
        if !isClosing.with({ $0 }) { for one in signals { signal(one, SIG_DFL) } }
    }
    try await withTaskCancellationHandler(operation: serve, onCancel: end)
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
