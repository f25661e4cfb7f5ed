import ChatModel
import Wire

/// Leaving a node that asked for it (PROTOCOL.md, "Moving"): the new connection is made while the old one is in use, and
/// takes its place when `connect` is answered. The app sees nothing of it.
extension ClientCore {
    /// Takes a `reconnect` push. One counts at a time; on a connection that is being made it says when and where to try
    /// again.
    mutating func reconnect(_ push: ReconnectPush, on number: UInt64, _ now: ClientInstant) {
        let isOnline = number == onlineConnection
        guard !isOnline || (moveAt == nil && successor == nil) else { return }
        namedGateways = Array(push.gateways.prefix(Self.addressesMax))
        addressIndex = 0
        backoff.obey(minMilliseconds: push.minMs, maxMilliseconds: push.maxMs)
        guard isOnline else { return }
        moveAt = now.adding(milliseconds: backoff.next(using: &random))
        // If the server closes first, the same window counts.
        backoff.obey(minMilliseconds: push.minMs, maxMilliseconds: push.maxMs)
    }

    /// The time to leave has come.
    mutating func moveOn(_ now: ClientInstant) {
        moveAt = nil
        // The wait was before.
        backoff.forgetWindow()
        log(.info, "moving to another node")
        successor = .waiting(until: now)
        attemptConnection(now)
    }

    /// Whether the connection in use owes answers to requests that must not be repeated.
    var isOwedAnswers: Bool {
        requests.values.contains { $0.wireID != nil && $0.isSpentByLoss }
    }

    /// Whether the request must not be sent now, because the server is about to end the connection in use.
    func waitsForSuccessor(_ request: PendingRequest) -> Bool {
        switch successor {
        case .settling, .authenticating: request.isSpentByLoss
        default: false
        }
    }

    /// Sends `connect` on a successor that has waited for answers, if they have come or none can come any more.
    mutating func connectIfSettled(_ now: ClientInstant) {
        guard case .settling(let number, let until, _) = trying, onlineConnection == nil || !isOwedAnswers else {
            return
        }
        authenticate(number, until: until, now)
    }

    /// The old connection was closed because a successor has taken the session over. If that one still waits for its
    /// answer, this is the expected end; else the answer was lost with it.
    mutating func replaced(_ words: String, _ now: ClientInstant) {
        if case .authenticating = successor { return succeed(now) }
        lost(words, now)
        tryAgain(ClientError(.connectionLost, "the connection was lost: \(words)"), now)
    }

    /// The successor takes the place of the connection in use. The rooms are entered again, and unanswered requests are
    /// asked again, without a word to the app.
    mutating func succeed(_ now: ClientInstant) {
        guard let attempt = successor else { return }
        (phase, successor) = (attempt, nil)
        moveAt = nil
        isBeingReplaced = false
        pingedAt = nil
        requestsLost(now, isMoving: true)
        for room in stays.keys.sorted() { carryOver(room) }
    }

    /// The room is entered on another connection next; until then it stays entered for the app.
    private mutating func carryOver(_ room: RoomID) {
        leaveOff(room)
        if stays[room]?.state == .entered { stays[room]?.isMoving = true }
    }

    /// How long `connect` waits for answers to requests that must not be repeated.
    static let settleMilliseconds: Int64 = 1_000
}
