import ChatModel
import Wire

@testable import ClientCore

/// A server with one room, as the protocol has it: it loses connections and acks, spares slow viewers, refuses for now,
/// and moves. What it has kept is the truth that a client is measured by.
struct FakeServer {
    static let watcher = UserID("watcher")!

    private(set) var history: [Message] = []
    /// First results by `clientId`.
    private(set) var results: [String: SendResult] = [:]
    private(set) var epoch = 1
    /// Seqs of the viewer that this connection is to be told of by a gap.
    private var owed: [UInt64] = []
    private var isIn = false
    /// What has been said and is not delivered yet.
    private(set) var outbox: [ServerItem] = []
    private(set) var performed: [String] = []

    var seq: UInt64 { UInt64(history.count) }

    mutating func takeOutbox() -> [ServerItem] {
        defer { outbox = [] }
        return outbox
    }

    mutating func connectionLost() {
        (isIn, owed, outbox) = (false, [], [])
    }

    /// Asks the client to leave.
    mutating func askToLeave() {
        outbox.append(.push(.reconnect(ReconnectPush(minMs: 0, maxMs: 500, cause: .drain))))
    }

    /// Somebody says something.
    mutating func post(_ text: String, clientID: String? = nil) -> Message {
        var message = Message(
            room: Script.room, place: .kept(seq: seq + 1), messageID: "m\(epoch)-\(seq + 1)",
            time: Timestamp(Int64(seq)), from: nil, body: .text(text))
        message.clientID = clientID
        history.append(message)
        return message
    }

    enum Delivery: CaseIterable { case normal, slow, budget }

    /// Somebody says something, and the viewer gets it or is spared it.
    mutating func post(_ text: String, _ delivery: Delivery) {
        let message = post(text)
        guard isIn else { return }
        switch delivery {
        case .normal: outbox.append(.push(.message(message)))
        case .slow: outbox.append(.push(.gap(gap(message.seq ?? 0, .slow))))
        case .budget: owed.append(message.seq ?? 0)
        }
    }

    /// Tells of what was left out for the viewer's budget.
    mutating func tellBudget() {
        for seq in owed { outbox.append(.push(.gap(gap(seq, .budget)))) }
        owed = []
    }

    private func gap(_ seq: UInt64, _ cause: GapCause) -> GapPush {
        GapPush(room: Script.room, ranges: [SeqRange(from: seq, to: seq)], cause: cause)
    }

    /// Performs a request. What it says stands in `outbox`.
    mutating func perform(_ request: ClientRequest, refuses: Bool) {
        let refusal = ChatError(.tooOften, "wait", retryAfterMs: 50)
        switch request.operation {
        case .connect(let connect):
            reply(request, .success(.connect(Script.session(resumed: connect.session != nil))))
        case .enter(let enter):
            if refuses { return reply(request, .failure(ChatError(.unavailable, "no leader", retryAfterMs: 50))) }
            isIn = true
            owed = []
            reply(request, .success(.enter(entry(enter))))
        case .exit:
            isIn = false
            reply(request, .success(.exit))
        case .send(let send):
            if let first = results[send.clientID] { return reply(request, .success(.send(first))) }
            if refuses { return reply(request, .failure(refusal)) }
            guard isIn else { return reply(request, .failure(ChatError(.notInRoom, "not in"))) }
            let message = post(send.clientID, clientID: send.clientID)
            let result = SendResult(messageID: message.messageID, time: message.time, place: message.place)
            results[send.clientID] = result
            performed.append(send.clientID)
            reply(request, .success(.send(result)))
            outbox.append(.push(.message(message)))
        case .history(let read):
            if refuses { return reply(request, .failure(refusal)) }
            let after = Int(clamping: read.query.afterSeq ?? 0)
            let page = history.dropFirst(after).prefix(read.query.limit)
            let more = after + page.count < history.count
            reply(request, .success(.history(MessagesResult(messages: Array(page), more: more))))
        case .ping: reply(request, .success(.ping(PingResult(time: Timestamp(0)))))
        default: reply(request, .failure(ChatError(.malformed, "not in this model")))
        }
    }

    private func entry(_ enter: EnterRequest) -> EnterResult {
        var result = Script.entry(seq: seq, epoch: "\(epoch)")
        guard let since = enter.since else { return result }
        result.recovered = enter.epoch == result.epoch && since <= seq
        if result.recovered == true {
            let missed = history.dropFirst(Int(clamping: since))
            result.missed = Array(missed.prefix(100))
            result.missedMore = missed.count > 100
        }
        return result
    }

    private mutating func reply(_ request: ClientRequest, _ result: Result<OperationResult, ChatError>) {
        outbox.append(.reply(id: request.id, result))
    }
}
