/// What a server opens before its first call, and closes when nothing serves or uses it any more.
public final class Lifespan: Sendable {
    private let changes: Changes
    private let current = Locked<(any Sendable)?>(nil)

    /// What is open.
    var value: (any Sendable)? { current.with { $0 } }

    public init<Value: Sendable>(
        open: @escaping @Sendable () async throws -> Value, close: @escaping @Sendable (Value) async -> Void = { _ in }
    ) {
        changes = Changes(open: open) { if let value = $0 as? Value { await close(value) } }
    }

    /// Opens that of a mounted server with this one, and now if this one is open.
    func mount(_ other: Lifespan) {
        Task {
            for user in await changes.mount(other) {
                do {
                    try await other.enter(user)
                } catch {
                    logError("the lifespan of a mounted server failed to open", error)
                }
            }
        }
    }

    /// The next time this one opens, that of the mounted server stays closed. If it is open, it stays
    /// open as long as this one, because calls may still use it.
    func unmount(_ other: Lifespan) {
        Task { await changes.unmount(other) }
    }

    /// Opens it for one more listener or connection.
    func enter(_ user: ObjectIdentifier) async throws {
        let value = try await changes.enter(user)
        current.with { $0 = value }
        for other in await changes.mounted { try await other.enter(user) }
    }

    /// Closes it if nothing else uses the server.
    func leave(_ user: ObjectIdentifier) async {
        let entered = await changes.entered
        await changes.leave(user) { [current] in current.with { $0 = nil } }
        for other in entered { await other.leave(user) }
    }

    private actor Changes {
        private(set) var mounted: [Lifespan] = []
        /// Those that users of this one may have opened, also if they are no longer mounted.
        private(set) var entered: [Lifespan] = []
        private let open: @Sendable () async throws -> any Sendable
        private let close: @Sendable (any Sendable) async -> Void
        private var users: Set<ObjectIdentifier> = []
        private var opening: Task<any Sendable, any Error>?
        private var closing: Task<Void, Never>?

        init(open: @escaping @Sendable () async throws -> any Sendable, close: @escaping @Sendable (any Sendable) async -> Void) {
            self.open = open
            self.close = close
        }

        func mount(_ other: Lifespan) -> Set<ObjectIdentifier> {
            mounted.append(other)
            entered.append(other)
            return users
        }

        func unmount(_ other: Lifespan) {
            mounted.removeAll { $0 === other }
            if users.isEmpty { entered = mounted }
        }

        func enter(_ user: ObjectIdentifier) async throws -> any Sendable {
            users.insert(user)
            let opening =
                self.opening
                ?? Task { [open, closing] in
                    await closing?.value
                    return try await open()
                }
            self.opening = opening
            do {
                return try await opening.value
            } catch {
                users.remove(user)
                if self.opening == opening { self.opening = nil }
                throw error
            }
        }

        func leave(_ user: ObjectIdentifier, _ forget: @escaping @Sendable () -> Void) async {
            guard users.remove(user) != nil, users.isEmpty else { return }
            entered = mounted
            guard let opened = opening else { return }
            opening = nil
            let closing = Task { [close] in
                guard let value = try? await opened.value else { return }
                forget()
                await close(value)
            }
            self.closing = closing
            await closing.value
        }
    }
}
