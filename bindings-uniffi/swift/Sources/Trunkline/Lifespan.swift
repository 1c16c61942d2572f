/// Opens before the first call of a server, and closes when nothing serves or uses it any more. The
/// lifespan of a mounted server opens with the first request that reaches it, and closes with the
/// server that it is mounted on.
public final class Lifespan: Sendable {
    private let open: @Sendable () async throws -> any Sendable
    private let close: @Sendable (any Sendable) async -> Void

    public init<Value: Sendable>(
        open: @escaping @Sendable () async throws -> Value, close: @escaping @Sendable (Value) async -> Void = { _ in }
    ) {
        self.open = open
        self.close = { if let value = $0 as? Value { await close(value) } }
    }

    /// The functions of the lifespan of a server, which keeps its value in `opened`.
    func callables(_ opened: Opened) -> [String: Callable] {
        [
            WaistMethods.open: Callable(name: "the lifespan") { [self] context, _ in
                // A cancelled opening may have left a value open.
                await end(opened)
                do {
                    let value = try await open()
                    guard context.isWaitedFor else {
                        // The listener or connection was closed meanwhile; the next may be open.
                        await close(value)
                        throw CancellationError()
                    }
                    opened.with { $0 = (context.ticket, .success(value)) }
                } catch {
                    if context.isWaitedFor { opened.with { $0 = (context.ticket, .failure(error)) } }
                    // The caller of `listen` or `connect` gets the message.
                    throw ToolError(describe(error))
                }
                var answer = try Answer(Shape.result, [:])
                answer.ifLate = { await self.end(opened, by: context.ticket) }
                return answer
            },
            WaistMethods.close: Callable(name: "the lifespan") { [self] _, _ in
                await end(opened)
                return try Answer(Shape.result, [:])
            },
        ]
    }

    /// Closes what is open, if it was opened by a call.
    private func end(_ opened: Opened, by ticket: UInt64? = nil) async {
        let ended = opened.with { current -> Result<any Sendable, any Error>? in
            guard let (opening, result) = current, ticket == nil || ticket == opening else { return nil }
            current = nil
            return result
        }
        if let value = try? ended?.get() { await close(value) }
    }
}

/// The call that opened the lifespan of a server, and what it has opened, or why it could not.
typealias Opened = Locked<(ticket: UInt64, result: Result<any Sendable, any Error>)?>
