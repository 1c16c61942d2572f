import TrunklineNative

/// The requests of this process in flight, by ticket.
final class Requests: Sendable {
    private enum Slot {
        /// The reply arrived before it is awaited, because the core has not yet returned the
        /// ticket.
        case arrived(Event)
        case awaited(CheckedContinuation<Event, Never>)
    }

    private let slots = Locked<[UInt64: Slot]>([:])

    /// Reports of progress that are still to be handled, of which only the latest is kept.
    private typealias Reports = (stream: AsyncStream<ProgressReport>, continuation: AsyncStream<ProgressReport>.Continuation)
    private let reports = Locked<[UInt64: Reports]>([:])

    /// Sends a request and waits for its reply. If the task is cancelled, so is the request. With
    /// `causes`, it leads to calls in this process, which inherit the task-local values.
    func send(
        _ target: UInt64, _ method: String, _ params: JSON? = nil, _ options: RequestOptions? = nil, causes: Bool = false
    ) async throws -> JSON {
        try await reply(try start(target, method, params, options, causes: causes), options?.onProgress)
    }

    /// Sends a request. Returns its ticket, for `reply`.
    func start(
        _ target: UInt64, _ method: String, _ params: JSON?, _ options: RequestOptions?, causes: Bool
    ) throws -> UInt64 {
        var message = try options.map { try object(of: $0) } ?? [:]
        message["method"] = .string(method)
        message["params"] = options?.meta.map { .object((params?.object ?? [:]).merging(["_meta": .object($0)])) } ?? params
        if options?.onProgress != nil { message["progress"] = true }
        if causes { message["causes"] = true }
        return try Port.shared.spans.sending(target, message) { message in
            let send = { () throws -> UInt64 in try native { try Port.shared.core.request(handle: target, json: text(message)) } }
            return causes ? try Port.shared.causing(nil, send) : try send()
        }
    }

    /// Waits for the reply with this ticket. `cancel` is called if the task is cancelled; the core
    /// then replies.
    func reply(
        _ ticket: UInt64, _ onProgress: (@Sendable (ProgressReport) async -> Void)? = nil, cancel: (@Sendable () -> Void)? = nil
    ) async throws -> JSON {
        let reporting = onProgress.map { report in
            Task { [reports = reports(of: ticket)] in for await progress in reports.stream { await report(progress) } }
        }
        let event = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let arrived = slots.with { slots -> Event? in
                    if case .arrived(let event) = slots.removeValue(forKey: ticket) { return event }
                    slots[ticket] = .awaited(continuation)
                    return nil
                }
                if let arrived { continuation.resume(returning: arrived) }
            }
        } onCancel: {
            // The request may have ended in the core.
            if let cancel { cancel() } else { try? Port.shared.core.cancel(ticket: ticket, reason: "") }
        }
        Port.shared.spans.replied(ticket)
        if let reporting {
            reports.with { $0.removeValue(forKey: ticket) }?.continuation.finish()
            if event.ok {
                // Progress that has arrived is still reported, before the result.
                await withTaskCancellationHandler(operation: { await reporting.value }, onCancel: { reporting.cancel() })
            } else {
                reporting.cancel()
            }
        }
        if event.ok { return try JSONParser.parse(event.body) }
        try Task.checkCancellation()
        throw errorOf(event.body)
    }

    func receive(reply event: Event) {
        let awaited = slots.with { slots -> CheckedContinuation<Event, Never>? in
            if case .awaited(let continuation) = slots.removeValue(forKey: event.ticket) { return continuation }
            slots[event.ticket] = .arrived(event)
            return nil
        }
        awaited?.resume(returning: event)
    }

    func receive(progress: ProgressReport, _ ticket: UInt64) { reports(of: ticket).continuation.yield(progress) }

    /// The reports of a request, whose progress may arrive before its ticket is known.
    private func reports(of ticket: UInt64) -> Reports {
        reports.with { all in
            let reports = all[ticket] ?? AsyncStream.makeStream(of: ProgressReport.self, bufferingPolicy: .bufferingNewest(1))
            all[ticket] = reports
            return reports
        }
    }
}
