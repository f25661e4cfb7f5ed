import ChatModel
import Testing
import Wire

@testable import ClientCore

/// A dialogue with the core: what happens, and what it wants done about it. Time goes on when a test says so.
final class Script {
    var core: ClientCore
    var now = ClientInstant(milliseconds: 1_000_000)
    /// Everything that was wanted, in order.
    private(set) var effects: [ClientEffect] = []
    /// What was wanted since the last input.
    private(set) var latest: [ClientEffect] = []
    /// The number of the connection that was opened last.
    private(set) var connection: UInt64 = 0
    private var nextTicket: UInt64 = 100

    init(
        _ settings: ClientSettings = ClientSettings(), addresses: [String] = ["ws://a"], asks: Bool = false,
        seed: UInt64 = 1
    ) {
        core = ClientCore(settings: settings, addresses: addresses, asksForAddresses: asks, seed: seed)
    }

    @discardableResult
    func happens(_ input: ClientInput) -> [ClientEffect] {
        latest = core.handle(input, at: now)
        effects += latest
        for case .open(let connection, _) in latest { self.connection = connection }
        return latest
    }

    /// Lets the time pass until the core wants to be woken, at most so long.
    @discardableResult
    func pass(milliseconds: Int64) -> [ClientEffect] {
        let end = now.adding(milliseconds: milliseconds)
        var all: [ClientEffect] = []
        while let due = core.nextDeadline, due <= end {
            now = max(now, due)
            all += happens(.deadline)
        }
        now = end
        return all
    }

    func ticket() -> UInt64 {
        nextTicket += 1
        return nextTicket
    }

    // MARK: - The usual

    static let room = RoomID("live")!
    static let ann = UserID("ann")!

    /// The requests that were written last, after an input.
    var written: [ClientRequest] { Self.written(latest) }

    static func written(_ effects: [ClientEffect]) -> [ClientRequest] {
        effects.compactMap { if case .write(_, let request) = $0 { request } else { nil } }
    }

    var roomEvents: [RoomEvent] { Self.roomEvents(latest) }

    static func roomEvents(_ effects: [ClientEffect]) -> [RoomEvent] {
        effects.compactMap { if case .roomEvent(_, let event) = $0 { event } else { nil } }
    }

    func answer(_ request: ClientRequest?, _ result: OperationResult) {
        happens(.received(connection: connection, .reply(id: request?.id, .success(result))))
    }

    func refuse(_ request: ClientRequest?, _ error: ChatError) {
        happens(.received(connection: connection, .reply(id: request?.id, .failure(error))))
    }

    func push(_ push: Push) { happens(.received(connection: connection, .push(push))) }

    func push(seq: UInt64) { push(.message(Self.message(seq))) }

    static func message(_ seq: UInt64) -> Message {
        Message(
            room: room, place: .kept(seq: seq), messageID: "m\(seq)", time: Timestamp(1), from: nil,
            body: .text("\(seq)"))
    }

    static func entry(seq: UInt64, epoch: String = "e") -> EnterResult {
        EnterResult(
            room: RoomView(info: RoomInfo(id: room, creator: ann, createdAt: Timestamp(0)), online: 1),
            me: Member(user: ann, profile: Profile(), role: .guest), epoch: epoch, seq: seq)
    }

    static func resumed(
        seq: UInt64, missed: ClosedRange<UInt64>? = nil, more: Bool = false, epoch: String = "e"
    ) -> EnterResult {
        var result = entry(seq: seq, epoch: epoch)
        result.recovered = true
        result.missed = missed.map { $0.map(message) } ?? []
        result.missedMore = more
        return result
    }

    static func session(_ text: String = "s", resumed: Bool = false, gateways: [String] = []) -> ConnectResult {
        ConnectResult(
            session: SessionID(text)!, user: ann, time: Timestamp(1), gateways: gateways, resumed: resumed)
    }

    /// Goes online, with the token "t".
    func goOnline(resumed: Bool = false) {
        if core.state == .idle { happens(.start(ticket: ticket())) }
        for case .fetchToken(let attempt) in latest { happens(.token(attempt: attempt, "t")) }
        happens(.opened(connection: connection))
        answer(written.first, .connect(Self.session(resumed: resumed)))
    }

    /// Goes online and into the room.
    func goIn(seq: UInt64 = 10) {
        goOnline()
        happens(.enter(ticket: ticket(), Self.room, EnterOptions()))
        answer(written.first, .enter(Self.entry(seq: seq)))
    }

    /// Loses the connection and gets another, up to the request that enters again.
    func comeBack(code: UInt16? = nil) -> ClientRequest? {
        happens(.closed(connection: connection, code: code, reason: ""))
        return comeOn()
    }

    /// Waits for the next try and connects, up to the requests behind it.
    func comeOn() -> ClientRequest? {
        untilTokenIsWanted()
        for attempt in Self.tokens(latest) { happens(.token(attempt: attempt, "t")) }
        happens(.opened(connection: connection))
        answer(written.first, .connect(Self.session(resumed: true)))
        return written.first { if case .enter = $0.operation { true } else { false } }
    }

    /// Lets the time pass up to the next try.
    func untilTokenIsWanted() {
        while Self.tokens(latest).isEmpty, let due = core.nextDeadline {
            now = max(now, due)
            happens(.deadline)
        }
    }

    static func tokens(_ effects: [ClientEffect]) -> [UInt64] {
        effects.compactMap { if case .fetchToken(let attempt) = $0 { attempt } else { nil } }
    }

    /// How a ticket was answered; nil if it was not.
    func outcome(_ ticket: UInt64) -> Result<ClientAnswer, ClientError>? {
        for case .complete(ticket, let result) in effects { return result }
        return nil
    }

    func failure(_ ticket: UInt64) -> ClientError? {
        if case .failure(let error) = outcome(ticket) { error } else { nil }
    }

    /// The seqs of the messages among events, in order.
    static func seqs(_ events: [RoomEvent]) -> [UInt64] {
        events.compactMap { if case .message(let message) = $0 { message.seq } else { nil } }
    }

    static func send(_ clientID: String) -> ClientOperation {
        .send(SendRequest(room: room, clientID: clientID, draft: MessageDraft(body: .text(clientID))))
    }

    static func sent(_ seq: UInt64) -> OperationResult {
        .send(SendResult(messageID: "m\(seq)", time: Timestamp(1), place: .kept(seq: seq)))
    }

    /// The delivery statuses among events.
    static func deliveries(_ events: [RoomEvent]) -> [DeliveryStatus] {
        events.compactMap { if case .delivery(let change) = $0 { change.status } else { nil } }
    }
}
