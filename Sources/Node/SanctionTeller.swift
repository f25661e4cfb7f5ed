import ChatModel
import Logging
import SystemGroupHost
import Telemetry
import Webhooks
import Wire

/// Tells the app's webhook of app-wide sanctions, in their order, on the node that leads the system group: at least once, from
/// what the system group has not heard to be told (PROTOCOL.md, "App-wide sanctions").
final class SanctionTeller: Sendable {
    private static let wait = Duration.seconds(1)
    private static let answerBytesMax = 64 << 10

    private let task: Task<Void, Never>

    /// - Parameter webhook: the one that is set, with its secret.
    init(
        own node: NodeID, system: SystemGroup, client: CallbackClient, figures: WebhookFigures, logger: Logger,
        webhook: @escaping @Sendable () -> WebhookSettings?
    ) {
        task = Task {
            var retryDelay = RetryDelay(firstMilliseconds: 1_000, longestMilliseconds: 60_000)
            // Once a minute, as of other batches.
            var warnedAt: ContinuousClock.Instant?
            while !Task.isCancelled {
                var wait = Self.wait
                let (events, settings) = (system.owedSanctions.events, webhook())
                let isTold = if events.isEmpty { false } else { await system.status().leader == node }
                figures.delivering(isTold ? events.first?.time : nil, nil)
                if isTold, let last = events.last {
                    do throws(ChatError) {
                        try await Self.notify(through: last.index, system, client, settings, figures)
                        retryDelay.succeeded()
                        figures.delivering(nil, nil)
                    } catch {
                        if !Task.isCancelled, warnedAt.map({ .now - $0 >= .seconds(60) }) ?? true {
                            warnedAt = .now
                            logger.warning(
                                "the webhook has not been told of sanctions; they are told again",
                                metadata: ["reason": "\(error.message)"])
                        }
                        wait = .milliseconds(retryDelay.failed(random: .random(in: 0..<1)))
                    }
                }
                let end = ContinuousClock.now + wait
                while !Task.isCancelled, ContinuousClock.now < end, webhook() == settings {
                    try? await Task.sleep(for: min(Self.wait, end - .now))
                }
                // Another receiver has refused nothing yet.
                if webhook() != settings { retryDelay.succeeded() }
            }
        }
    }

    func stop() async {
        task.cancel()
        await task.value
    }

    private static func notify(
        through last: UInt64, _ system: SystemGroup, _ client: CallbackClient, _ webhook: WebhookSettings?,
        _ figures: WebhookFigures
    ) async throws(ChatError) {
        var told = last
        // Without a webhook it is forgotten.
        if let webhook {
            let (events, forgotten) = system.owedSanctions
            let part = events.prefix(Int(webhook.maxBatch))
            guard let end = part.last else { return }
            told = end.index
            if webhook.wants(.sanction) {
                var batch = WebhookBatch(
                    cursor: "sanctions-\(String(told, radix: 36))", items: part.map(Self.item))
                batch.dropped = forgotten
                do throws(ChatError) {
                    try await post(batch, client, webhook)
                } catch {
                    figures.failed.add()
                    throw error
                }
                figures.delivered.add(part.count)
            }
        }
        try await system.sanctionsTold(through: told)
    }

    private static func item(_ event: SanctionEvent) -> WebhookItem {
        var item = WebhookItem(
            id: "sanction-\(String(event.index, radix: 36))", room: nil, event: .sanction, time: event.time)
        item.user = UserName(user: event.user, nick: "")
        item.sanction = WebhookSanction(event)
        return item
    }

    private static func post(
        _ batch: WebhookBatch, _ client: CallbackClient, _ webhook: WebhookSettings
    ) async throws(ChatError) {
        let request = CallbackRequest(
            url: webhook.url, secret: webhook.secret ?? "", body: WireJSON.encode(batch),
            time: WallClock.now().milliseconds, timeoutMilliseconds: webhook.timeoutMs,
            answerBytesMax: answerBytesMax)
        let status: Int
        do throws(CallbackError) {
            let answer = try await client.post(request)
            if answer.isAccepted { return }
            status = answer.status
        } catch {
            throw ChatError(.unavailable, error.description)
        }
        throw ChatError(.unavailable, "it answered HTTP \(status)")
    }
}
