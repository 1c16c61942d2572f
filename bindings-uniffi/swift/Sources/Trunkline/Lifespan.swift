/// What a server opens before its first call, and closes when nothing serves or uses it any more.
/// That of a mounted server opens with the first request that reaches it, and closes with the
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
                // It may have been called off when it was already open.
                await end(opened)
                do {
                    let value = try await open()
                    guard context.isWaitedFor else {
                        // What was about to serve was closed meanwhile, and the next may be open.
                        await close(value)
                        throw CancellationError()
                    }
                    opened.with { $0 = .success(value) }
                } catch {
                    if context.isWaitedFor { opened.with { $0 = .failure(error) } }
                    // Whoever listens or connects gets the message.
                    throw ToolError(describe(error))
                }
                return Answer(Shape.result, [:])
            },
            WaistMethods.close: Callable(name: "the lifespan") { [self] _, _ in
                await end(opened)
                return Answer(Shape.result, [:])
            },
        ]
    }

    private func end(_ opened: Opened) async {
        if let value = try? opened.exchange(nil)?.get() { await close(value) }
    }
}

/// What the lifespan of a server has opened, or why it could not.
typealias Opened = Locked<Result<any Sendable, any Error>?>
