import ChatModel
import Testing

@testable import RoomCore

func user(_ name: String) -> UserID {
    guard let user = UserID(name) else { fatalError("not a user: \(name)") }
    return user
}

func member(_ name: String, anonymous: Bool = false) -> Actor {
    .member(user(name), Profile(nick: "nick-\(name)"), anonymous: anonymous)
}

/// A room that is talked to, its clock, and a store that holds what it has emitted.
///
/// After every command it checks what must always hold: the order of effects, a dense seq, and that the room restored
/// from the store is the living one.
struct Dialogue {
    var state: RoomState
    var store: FakeStore
    var now = Timestamp(1_700_000_000_000)
    var index: UInt64 = 99
    var facts = CommandFacts()
    /// Whether the room is restored after every command: false while a test fills it.
    var restores = true
    let room: RoomID

    /// An open room of which "creator" is the creator, "manager" a manager, and "normal" a normal member.
    init(staffed: Bool = true, set: RoomChanges = RoomChanges()) {
        guard let room = RoomID("r") else { fatalError("a room ID") }
        self.room = room
        state = RoomState(absent: room)
        store = FakeStore(room: room)
        guard staffed else { return }
        run(.createRoom(creator: user("creator"), set: set), by: .system)
        run(.setRole(user("manager"), .manager, NotifyOptions(notify: false)), by: .system)
        run(.setRole(user("normal"), .normal, NotifyOptions(notify: false)), by: .system)
    }

    @discardableResult
    mutating func run(_ body: CommandBody, by actor: Actor, key: UInt64? = nil, id: CommandID? = nil) -> [Effect] {
        index += 1
        let command = Command(id: id, room: room, actor: actor, body: body, facts: facts)
        let lastSeq = state.lastSeq
        let incarnation = state.incarnation
        let effects = state.apply(
            command, key: key.map { CommandKey(high: 7, low: $0) }, at: Stamp(index: index, time: now)
        ).map { (effect: Effect) -> Effect in
            // A host may write the room's row after each command.
            if case .roomChanged = effect, let row = state.roomRow { Effect.catalogue(row) } else { effect }
        }
        check(effects, after: lastSeq, incarnation)
        store.perform(effects, incarnation: incarnation ?? state.incarnation)
        if restores, let difference = state.difference(from: store.restored(), at: now) {
            Issue.record("restored otherwise after \(body): \(difference)")
        }
        return effects
    }

    mutating func pass(milliseconds: Int64) { now = now.adding(milliseconds: milliseconds) }
    mutating func pass(seconds: Int64) { now = now.adding(seconds: seconds) }

    private func check(_ effects: [Effect], after lastSeq: UInt64, _ incarnation: Incarnation?) {
        #expect(effects.map(\.phase) == effects.map(\.phase).sorted(), "effects come in order")
        #expect(effects.count { $0.phase == Effect.resultPhase } == 1)
        if case .refused? = effects.result { #expect(effects.count == 1) }
        var seq = lastSeq
        for effect in effects {
            guard case .append(let message, _) = effect else { continue }
            seq += 1
            #expect(message.seq == seq)
            let isLeftOut = effects.contains { if case .leaveOut(let seqs) = $0 { seqs.contains(seq) } else { false } }
            #expect(effects.contains(.publish(message)) != isLeftOut)
        }
        if state.incarnation == incarnation { #expect(state.lastSeq == seq) }
    }
}

extension Effect {
    static let resultPhase = 6

    /// The place of a kind of effect in the order that `Effect` promises.
    var phase: Int {
        switch self {
        case .catalogue(let change): change.kind == .room ? 1 : 0
        case .roomChanged: 1
        case .keepCopies, .append, .erase, .amend: 2
        case .publish: 3
        case .leaveOut, .held, .denied: 4
        case .kick, .kickAll, .robotsEnter, .robotsExit, .retire: 5
        case .result: Self.resultPhase
        }
    }
}

extension [Effect] {
    var result: CommandResult? {
        if case .result(let result)? = last { result } else { nil }
    }

    var error: ChatError? {
        if case .refused(let error)? = result { error } else { nil }
    }

    var code: ErrorCode? { error?.code }

    var shown: [Message] {
        compactMap { if case .publish(let message) = $0 { message } else { nil } }
    }

    var notifications: [ChatModel.Notification] {
        shown.compactMap { if case .notification(let notification) = $0.body { notification } else { nil } }
    }

    var events: [EventCode] { notifications.map(\.event) }

    var member: Member? {
        if case .member(let member)? = result { member } else { nil }
    }

    var element: QueueElement? {
        if case .element(let element)? = result { element } else { nil }
    }

    /// The ID and priority of an accepted post.
    var posted: (messageID: String, place: MessagePlace, priority: Priority)? {
        if case .posted(let messageID, let place, _, let priority, _)? = result {
            (messageID, place, priority)
        } else {
            nil
        }
    }

    /// Rows other than the room's own.
    var rows: [CatalogueChange] {
        compactMap { if case .catalogue(let change) = $0, change.kind != .room { change } else { nil } }
    }
}
