/// What a server opens before its first call, and closes when nothing serves or uses it any more.
public final class Lifespan: @unchecked Sendable {
    private let open: @Sendable () async throws -> any Sendable
    private let close: @Sendable (any Sendable) async -> Void

    /// Guards the state of all lifespans, because a mount changes several.
    private static let lock = Locked(())
    private var current: (any Sendable)?
    private var mounted: [Lifespan] = []
    /// Those that users of this one may have opened, also if they are no longer mounted.
    private var entered: [Lifespan] = []
    private var users: Set<ObjectIdentifier> = []
    private var opening: Task<Void, any Error>?
    private var closing: Task<Void, Never>?

    /// What is open.
    var value: (any Sendable)? { Self.lock.with { _ in current } }

    public init<Value: Sendable>(
        open: @escaping @Sendable () async throws -> Value, close: @escaping @Sendable (Value) async -> Void = { _ in }
    ) {
        self.open = open
        self.close = { if let value = $0 as? Value { await close(value) } }
    }

    /// Opens that of a server, which `register` mounts, with this one, and now if this one is open.
    /// Calls that arrive meanwhile wait in `opened`.
    func mount<R>(_ other: Lifespan, register: () throws -> R) rethrows -> R {
        let (registered, openings) = try Self.lock.with { _ in
            let registered = try register()
            mounted.append(other)
            if !entered.contains(where: { $0 === other }) { entered.append(other) }
            return (registered, users.flatMap { other.begin($0, after: opening) })
        }
        Task {
            do {
                for opening in openings { try await opening.value }
            } catch {
                logError("the lifespan of a mounted server failed to open", error)
            }
        }
        return registered
    }

    /// The next time this one opens, that of the mounted server stays closed. If it is open, it stays
    /// open as long as this one, because calls may still use it.
    func unmount(_ other: Lifespan) {
        Self.lock.with { _ in
            mounted.removeAll { $0 === other }
            if users.isEmpty { entered = mounted }
        }
    }

    /// Opens it for one more listener or connection.
    func enter(_ user: ObjectIdentifier) async throws {
        for opening in Self.lock.with({ _ in begin(user) }) { try await opening.value }
    }

    /// Waits until it is open, if it is opening.
    func opened() async { _ = await Self.lock.with { _ in opening }?.result }

    /// Closes it if nothing else uses the server.
    func leave(_ user: ObjectIdentifier) async {
        let (entered, closing) = Self.lock.with { _ in
            (self.entered, users.remove(user) != nil && users.isEmpty ? end() : nil)
        }
        await closing?.value
        for other in entered { await other.leave(user) }
    }

    /// Begins to open it and those mounted, each after its host. The lock is held.
    private func begin(_ user: ObjectIdentifier, after host: Task<Void, any Error>? = nil) -> [Task<Void, any Error>] {
        users.insert(user)
        let opening =
            opening
            ?? Task { [closing] in
                _ = await host?.result
                await closing?.value
                do {
                    let value = try await open()
                    Self.lock.with { _ in current = value }
                } catch {
                    // The next user tries again, or does already if the last one has left.
                    Self.lock.with { _ in if self.closing == closing { self.opening = nil } }
                    throw error
                }
            }
        self.opening = opening
        return [opening] + mounted.flatMap { $0.begin(user, after: opening) }
    }

    /// Begins to close it. The lock is held.
    private func end() -> Task<Void, Never>? {
        entered = mounted
        guard let opening else { return nil }
        self.opening = nil
        let closing = Task {
            _ = await opening.result
            let value = Self.lock.with { _ in
                defer { current = nil }
                return current
            }
            if let value { await close(value) }
        }
        self.closing = closing
        return closing
    }
}
