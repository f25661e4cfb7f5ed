import ChatModel
import Wire

extension RoomExplanation {
    /// The meaning of the numbers, in sentences: first what holds the room up, then its state.
    func sentences() -> [String] {
        var troubles = logTroubles
        if let state { troubles += rules(state) }
        troubles += deliveryTroubles
        let opening = troubles.isEmpty ? ["Nothing holds this room up."] : troubles
        return opening + (state.map { facts($0) } ?? [])
    }

    /// A sync that takes longer is felt by senders: their acks wait for it.
    static let slowSyncMs = 50.0

    private var logTroubles: [String] {
        var lines: [String] = []
        if log.isFailing {
            lines.append("The leader can't write to its disk: nothing is accepted; it keeps trying.")
        } else if log.leader == nil {
            lines.append("Nobody leads shard \(log.shard): nothing is accepted until a leader is elected.")
        }
        if log.isOverloaded {
            lines.append("The disk can't keep up with history: changes are refused until it does.")
        }
        if log.syncMs >= Self.slowSyncMs {
            lines.append("The last sync of the log took \(Int64(log.syncMs.rounded())) ms; every ack waits for one.")
        }
        if log.uncommitted > 0 {
            let verb = Self.verb(log.uncommitted, "waits", "wait")
            lines.append("\(Self.count(log.uncommitted, "change")) of this shard \(verb) for the log.")
        }
        if log.committed > log.applied {
            let waiting = Int64(clamping: log.committed - log.applied)
            let verb = Self.verb(waiting, "waits", "wait")
            lines.append("\(Self.count(waiting, "committed change")) of this shard \(verb) to be applied.")
        }
        return lines
    }

    private func rules(_ state: StateFigures) -> [String] {
        var lines: [String] = []
        if state.closed { lines.append("The room is closed: nobody enters or sends until it is reopened.") }
        if state.muted { lines.append("The room is muted: only its creator and managers send.") }
        if state.slowModeSeconds > 0 {
            lines.append("Slow mode: each user sends one message in \(state.slowModeSeconds) s; managers are exempt.")
        }
        if state.online == 0, !state.closed { lines.append("Nobody is here.") }
        if state.online > 0, state.online == state.robots { lines.append("Only robots are here.") }
        let away = state.sessions - state.robots - lanes.reduce(0) { $0 + $1.viewers }
        if away > 0 {
            let verbs = Self.verb(away, "is away or just coming: it sees", "are away or just coming: they see")
            lines.append("\(Self.count(away, "session")) \(verbs) nothing now.")
        }
        return lines
    }

    private var deliveryTroubles: [String] {
        let slow = lanes.reduce(0) { $0 + $1.slow }
        let waiting = lanes.reduce(0) { $0 + $1.waitingBytes }
        let messages = lanes.reduce(0) { $0 + $1.messagesDropped }
        let barrage = lanes.reduce(0) { $0 + $1.barrageDropped }
        var lines: [String] = []
        if slow > 0 {
            let verb = Self.verb(slow, "reads", "read")
            let bytes = "\(Self.count(waiting, "byte")) \(Self.verb(waiting, "waits", "wait"))"
            lines.append(
                "\(Self.count(slow, "viewer")) \(verb) too slowly: \(bytes) for \(Self.verb(slow, "it", "them")).")
        }
        if messages + barrage > 0 {
            lines.append(
                "Slow viewers were not given \(Self.count(messages, "message")) and "
                    + "\(Self.count(barrage, "barrage item")); they were told.")
        }
        return lines
    }

    private func facts(_ state: StateFigures) -> [String] {
        var lines: [String] = []
        if state.online > 0 {
            let viewers = lanes.reduce(0) { $0 + $1.viewers }
            lines.append(
                "\(state.online) online, \(state.robots) of them robots; \(Self.count(viewers, "viewer")) on "
                    + "\(Self.count(Int64(lanes.count), "gateway lane")).")
        }
        if let last = state.lastMessageAt {
            let seconds = max(0, time.milliseconds - last.milliseconds) / 1000
            lines.append("The last message was kept \(seconds) s ago, seq \(state.lastSeq).")
        } else {
            lines.append(
                state.lastSeq == 0
                    ? "No message has been kept yet." : "The last message, seq \(state.lastSeq), has expired.")
        }
        if state.online > state.digestAboveOnline {
            lines.append(
                "Over \(state.digestAboveOnline) online: enters and exits of guests come as one digest a second.")
        }
        if state.online > state.viewerBudgetAboveOnline {
            lines.append(
                "Over \(state.viewerBudgetAboveOnline) online: a viewer gets at most \(state.viewerBudget) messages a "
                    + "second; the rest is told by gap.")
        }
        if state.messagesDropped > 0 {
            lines.append("The viewer budget has left out \(Self.count(state.messagesDropped, "message")).")
        }
        if state.barrageDropped > 0 {
            let shown =
                "\(Self.count(state.barrageShown, "item")) \(Self.verb(state.barrageShown, "was", "were")) shown"
            lines.append("Barrage is sampled: \(shown) and \(state.barrageDropped) left out.")
        }
        return lines
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    private static func verb(_ number: Int64, _ one: String, _ many: String) -> String { number == 1 ? one : many }
}
