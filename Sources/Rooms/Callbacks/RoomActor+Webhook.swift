import ChatModel
import EventLoop
import History
import RoomCore
import RoomProtocol
import Webhooks
import Wire

/// Something without a seq of its own that the webhook is owed.
private enum OwedEvent {
    case life(RoomLifeEvent)
    case report(MessageReport)

    /// The log entry: both have their place in the same order.
    var index: UInt64 {
        switch self {
        case .life(let event): event.index
        case .report(let report): report.index
        }
    }

    /// The last seq before it.
    var after: UInt64 {
        switch self {
        case .life(let event): event.after
        case .report(let report): report.after
        }
    }
}

/// Items of a room for the app's webhook.
extension RoomActor {
    /// Bytes of the messages of one slice, roughly; at least one message is taken.
    private static var sliceBytesMax: Int { 512 << 10 }

    /// Everything that is owed by now counts as delivered: there is no webhook any more. Nothing that comes later does:
    /// there may be one again before this is written down.
    func forgetOwed() -> WebhookSlice {
        var progress = WebhookProgress(
            incarnation: state.incarnation ?? Incarnation(0), seq: state.lastSeq, time: context.now(),
            eventIndex: max(state.lastOwedEvent, state.lastReport))
        progress.noteForgotten(of: state.webhook)
        return WebhookSlice(progress: progress)
    }

    /// The items after `progress`, at most `limit` items, in order. `completion` is called on the loop, at once or when
    /// history has been read; with nil when that failed.
    func webhookSlice(
        after progress: WebhookProgress?, limit: Int, _ settings: WebhookSettings,
        _ completion: @escaping @Sendable (WebhookSlice?) -> Void
    ) {
        let incarnation = state.incarnation ?? Incarnation(0)
        var slice = WebhookSlice(progress: WebhookProgress(incarnation: incarnation))
        slice.progress.eventIndex = progress?.eventIndex ?? 0
        if let progress { slice.progress.noteForgotten(as: progress) }
        guard let owed = state.webhook else { return completion(slice) }
        if let event = owed.events.first(where: { $0.index > slice.progress.eventIndex }), let life = event.life {
            return pastSlice(event, of: life, after: progress, limit: limit, settings, completion)
        }
        slice.progress.time = owed.since
        var next = owed.firstSeq == 0 ? state.lastSeq + 1 : owed.firstSeq
        if let progress, progress.incarnation == incarnation, progress.seq >= next {
            next = progress.seq + 1
            slice.progress.time = progress.time
        }
        slice.progress.seq = next - 1
        guard next <= state.lastSeq else {
            fill(&slice, [], reachable: next, limit: limit, settings: settings)
            return completion(slice)
        }
        let reachable = min(firstReachable, turn.unwrittenFrom ?? .max)
        if next >= reachable, let messages = recent.tail.messages(after: next - 1, lastSeq: state.lastSeq, limit: limit)
        {
            fill(&slice, messages, reachable: next, limit: limit, settings: settings)
            return completion(slice)
        }
        var query = HistoryRequest()
        query.ascending = true
        query.afterSeq = next - 1
        query.limit = min(limit, Int(Limits.pageItems))
        begin { [query, slice, next] room in
            guard let page = try? await room.page(query), room.state.incarnation == incarnation else {
                return completion(nil)
            }
            var slice = slice
            // Messages that neither history nor the tail has are expired.
            let end = page.more ? (page.messages.last?.seq ?? next - 1) + 1 : reachable
            room.fill(&slice, page.messages, reachable: end, limit: limit, settings: settings)
            completion(slice)
        }
    }

    /// The items of a life that has ended, up to one of its events. They come before all others, in the same order.
    private func pastSlice(
        _ event: RoomLifeEvent, of life: Incarnation, after progress: WebhookProgress?, limit: Int,
        _ settings: WebhookSettings, _ completion: @escaping @Sendable (WebhookSlice?) -> Void
    ) {
        var slice = WebhookSlice(progress: WebhookProgress(incarnation: life, eventIndex: progress?.eventIndex ?? 0))
        if let progress { slice.progress.noteForgotten(as: progress) }
        // Whatever is behind it, the next slice tells.
        slice.more = true
        let owed = state.owedMessages(ofPast: life)
        var next = owed?.lowerBound ?? event.after + 1
        if let progress, progress.incarnation == life { next = max(next, progress.seq + 1) }
        slice.progress.seq = next - 1
        let last = min(event.after, owed?.upperBound ?? 0)
        guard next <= last else {
            finish(&slice, with: event, settings)
            return completion(slice)
        }
        var query = HistoryRequest()
        query.ascending = true
        query.afterSeq = next - 1
        query.limit = min(limit, Int(Limits.pageItems))
        begin { [query, slice] room in
            guard let page = try? await room.page(query, of: life) else { return completion(nil) }
            var slice = slice
            let messages = page.messages.filter { $0.seq.map { $0 <= last } ?? false }
            var bytes = 0
            for message in messages {
                guard slice.items.count < limit, bytes < Self.sliceBytesMax else { break }
                room.add(message, to: &slice, of: life, &bytes, limit: limit, settings: settings)
            }
            // Behind the end of the page nothing is known yet.
            let isRead = messages.last.map { slice.progress.seq == $0.seq } ?? true
            if isRead, !page.more || messages.count < page.messages.count, slice.items.count < limit {
                if slice.progress.seq < last { room.addLost(through: last, of: life, to: &slice) }
                if slice.items.count < limit { room.finish(&slice, with: event, settings) }
            }
            completion(slice)
        }
    }

    /// Puts an event behind the messages of a life that has ended. The count of what was forgotten is told with the present life.
    private func finish(_ slice: inout WebhookSlice, with event: RoomLifeEvent, _ settings: WebhookSettings) {
        slice.progress.eventIndex = event.index
        var bytes = 0
        add(event, to: &slice, &bytes, settings)
    }

    /// The first seq that is in memory and has not expired; what is before it must be read from history.
    private var firstReachable: UInt64 {
        let cutoff = visibleSince
        guard let first = recent.tail.firstSeq, first > 0 else { return state.lastSeq + 1 }
        return recent.tail.firstSeq(since: cutoff) ?? state.lastSeq + 1
    }

    /// Puts messages and what lies between them into the slice.
    /// - Parameter reachable: seqs below it that are not among the messages are lost.
    private func fill(
        _ slice: inout WebhookSlice, _ messages: [Message], reachable: UInt64, limit: Int, settings: WebhookSettings
    ) {
        // As they are now: history may have been read meanwhile.
        let owed = state.webhook ?? WebhookRecord()
        let known = slice.progress.forgottenFrom == owed.forgottenFrom ? slice.progress.forgotten ?? 0 : 0
        slice.forgotten = max(0, owed.forgotten - max(owed.toldForgotten, known))
        slice.progress.noteForgotten(of: owed)
        var events = owedEvents(after: slice.progress.eventIndex, limit)[...]
        var bytes = 0
        for message in messages {
            guard let seq = message.seq, seq > slice.progress.seq else { continue }
            add(&events, before: seq, to: &slice, &bytes, limit: limit, settings: settings)
            guard slice.items.count < limit, bytes < Self.sliceBytesMax else { break }
            add(message, to: &slice, of: slice.progress.incarnation, &bytes, limit: limit, settings: settings)
        }
        if slice.items.count < limit, bytes < Self.sliceBytesMax {
            if slice.progress.seq + 1 < reachable, slice.progress.seq < state.lastSeq {
                addLost(through: min(reachable - 1, state.lastSeq), of: slice.progress.incarnation, to: &slice)
            }
            if slice.progress.seq == state.lastSeq {
                add(&events, before: .max, to: &slice, &bytes, limit: limit, settings: settings)
            }
        }
        // Those that nobody wants are not counted: there may be more behind them.
        slice.more = slice.progress.seq < state.lastSeq || !owedEvents(after: slice.progress.eventIndex, 0).isEmpty
    }

    /// Puts a message behind what is lost before it; only that, where there is no more place.
    private func add(
        _ message: Message, to slice: inout WebhookSlice, of life: Incarnation, _ bytes: inout Int, limit: Int,
        settings: WebhookSettings
    ) {
        guard let seq = message.seq else { return }
        if seq > slice.progress.seq + 1 { addLost(through: seq - 1, of: life, to: &slice) }
        guard slice.items.count < limit else { return }
        slice.progress.seq = seq
        slice.progress.time = message.time
        bytes += HotTail.size(message)
        let event: WebhookEvent = message.type == .notification ? .notification : .message
        if message.webhook, settings.wants(event) { slice.items.append(item(message, event)) }
    }

    private func addLost(through last: UInt64, of life: Incarnation, to slice: inout WebhookSlice) {
        slice.items.append(lost(slice.progress.seq + 1, last, of: life))
        slice.progress.seq = last
    }

    private func lost(_ from: UInt64, _ to: UInt64, of life: Incarnation) -> WebhookItem {
        let life = String(life.number, radix: 36)
        var item = WebhookItem(id: "lost-\(shard)-\(life)-\(from)-\(to)", room: id, event: .lost, time: context.now())
        item.lost = LostMessages(room: id, from: from, to: to)
        return item
    }

    private func add(
        _ events: inout ArraySlice<OwedEvent>, before seq: UInt64, to slice: inout WebhookSlice, _ bytes: inout Int,
        limit: Int, settings: WebhookSettings
    ) {
        while slice.items.count < limit, bytes < Self.sliceBytesMax, let event = events.first, event.after < seq {
            events.removeFirst()
            slice.progress.eventIndex = event.index
            switch event {
            case .life(let event): add(event, to: &slice, &bytes, settings)
            case .report(let report): add(report, to: &slice, settings)
            }
        }
    }

    private func add(
        _ event: RoomLifeEvent, to slice: inout WebhookSlice, _ bytes: inout Int, _ settings: WebhookSettings
    ) {
        let name = "\(shard)-\(String(event.index, radix: 36))"
        if event.isLoss {
            var item = WebhookItem(id: "lost-\(name)", room: id, event: .lost, time: event.time)
            item.lost = LostMessages(room: id, from: event.lostFrom, to: event.lostTo)
            slice.items.append(item)
        }
        if event.kind == .held {
            guard settings.wants(.held) else { return }
            let item = held(event, name)
            bytes += item.message.map(HotTail.size) ?? 0
            slice.items.append(item)
            return
        }
        let kind: WebhookEvent = [.closed, .deleted].contains(event.kind) ? .close : .open
        guard settings.wants(kind) else { return }
        var item = WebhookItem(id: "room-\(name)", room: id, event: kind, time: event.time)
        item.kind = event.kind
        slice.items.append(item)
    }

    private func add(_ report: MessageReport, to slice: inout WebhookSlice, _ settings: WebhookSettings) {
        guard settings.wants(.report) else { return }
        var item = WebhookItem(id: "report-\(shard)-\(report.id)", room: id, event: .report, time: report.time)
        item.report = report.shown(at: context.now())
        slice.items.append(item)
    }

    /// Everything that is owed besides messages, in the order of the log: at least `limit` of it, where there is as much.
    private func owedEvents(after index: UInt64, _ limit: Int) -> [OwedEvent] {
        let events = (state.webhook?.events ?? []).filter { $0.index > index }
        // One more than fit tells that there is more.
        let held = state.owedHolds(after: index, countMax: limit + 1)
        let reports = state.owedReports(after: index, countMax: limit + 1).map { OwedEvent.report($0) }
        return ((events + held).map { OwedEvent.life($0) } + reports).sorted { $0.index < $1.index }
    }

    /// A message that waits, or has waited and was decided since.
    private func held(_ event: RoomLifeEvent, _ name: String) -> WebhookItem {
        var item = WebhookItem(id: "held-\(name)", room: id, event: .held, time: event.time)
        item.heldID = MessageID.held(state.incarnation ?? Incarnation(0), index: event.index).text
        item.message = state.heldMessage(index: event.index).map(forReview)
        return item
    }

    /// Message IDs are unique within their shard.
    private func item(_ message: Message, _ event: WebhookEvent) -> WebhookItem {
        var item = WebhookItem(id: "\(shard)-\(message.messageID)", room: id, event: event, time: message.time)
        item.seq = message.seq
        item.message = forReview(message)
        return item
    }

    // MARK: - Best effort

    /// A message that is not kept.
    func offerUnkept(_ message: Message) {
        guard message.webhook, message.seq == nil else { return }
        context.callbacks.value.offer(.unkept, shard) { item(message, .unkept) }
    }

    /// Somebody has come or gone.
    func offer(_ event: WebhookEvent, _ user: UserName) {
        context.callbacks.value.offer(event, shard) {
            var item = WebhookItem(id: "", room: id, event: event, time: context.now())
            item.user = user
            item.online = Int64(presence.online)
            return item
        }
    }
}
