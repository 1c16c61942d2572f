import Foundation

/// A value that is only used with its lock held.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// Must be short: it blocks a thread.
    func with<R>(_ work: (inout Value) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try work(&value)
    }

    /// Replaces the value, and returns the one before.
    func exchange(_ new: Value) -> Value {
        with { value in
            defer { value = new }
            return value
        }
    }
}
