import ChatModel
import Testing

@testable import RoomCore

@Suite struct PinTests {
    /// A kept message, as the leader looks it up.
    static func post(_ it: inout Dialogue, _ text: String = "x") throws -> (id: String, original: OriginalMessage) {
        let message = try #require(it.run(.post(MessageDraft(body: .text(text))), by: member("bob")).shown.first)
        return (message.messageID, try #require(OriginalMessage(message)))
    }

    @discardableResult
    static func pin(
        _ it: inout Dialogue, _ message: (id: String, original: OriginalMessage), enable: Bool = true,
        by actor: Actor = member("manager"), key: UInt64? = nil
    ) -> [Effect] {
        it.facts.original = message.original
        defer { it.facts.original = nil }
        return it.run(.pin(messageID: message.id, enable: enable, NotifyOptions()), by: actor, key: key)
    }

    private static func recall(_ it: inout Dialogue, _ message: (id: String, original: OriginalMessage)) -> [Effect] {
        let target = RecallTarget(
            seq: message.original.seq, sender: message.original.user, time: message.original.time, type: .text)
        return it.run(.recall([target], NotifyOptions()), by: .system)
    }

    private static func pinned(_ it: Dialogue) -> [String] { (it.state.info?.pinned ?? []).map(\.messageID) }

    @Test func `managers and the server pin, others do not`() throws {
        var it = Dialogue()
        for actor in [member("creator"), member("manager"), .system, .server(UserName(user: user("bob"), nick: ""))] {
            let message = try Self.post(&it)
            let effects = Self.pin(&it, message, by: actor)
            #expect(effects.events == [.pinsChanged], "\(actor)")
            let pinned = try #require(it.state.info?.pinned)
            #expect(pinned.last?.messageID == message.id)
            #expect(effects.notifications.first?.data == .pinned(pinned) && effects.result == .pinned(pinned))
        }
        let message = try Self.post(&it)
        for actor in [member("normal"), member("bob"), member("eve", anonymous: true)] {
            #expect(Self.pin(&it, message, by: actor).code == .forbidden)
            #expect(Self.pin(&it, message, enable: false, by: actor).code == .forbidden)
        }
        #expect(Self.pinned(it).count == 4)
    }

    @Test func `pinning again and taking away what is not pinned tell nobody`() throws {
        var it = Dialogue()
        let (first, second) = (try Self.post(&it), try Self.post(&it))
        Self.pin(&it, first)
        let again = Self.pin(&it, first)
        #expect(again.shown.isEmpty && again.result == .pinned(it.state.info?.pinned ?? []))
        #expect(Self.pin(&it, second, enable: false).shown.isEmpty)
        #expect(Self.pin(&it, first, enable: false).notifications.map(\.data) == [.pinned([])])
        #expect(Self.pin(&it, first, enable: false).result == .pinned([]))
    }

    @Test func `the eleventh is refused until one has gone`() throws {
        var it = Dialogue()
        let messages = try (1...11).map { try Self.post(&it, "\($0)") }
        for message in messages.prefix(10) { #expect(Self.pin(&it, message).error == nil) }
        #expect(Self.pin(&it, messages[10]).code == .conflict)
        #expect(Self.pin(&it, messages[0]).error == nil, "it is pinned already")
        Self.pin(&it, messages[4], enable: false)
        #expect(Self.pin(&it, messages[10]).error == nil)
        #expect(Self.pinned(it) == messages.indices.filter { $0 != 4 }.map { messages[$0].id })
    }

    @Test func `what is recalled drops out, and can't come in again`() throws {
        var it = Dialogue()
        let (first, second) = (try Self.post(&it), try Self.post(&it))
        Self.pin(&it, first)
        Self.pin(&it, second)
        #expect(Self.recall(&it, first).events == [.recalled])
        #expect(Self.pinned(it) == [second.id])
        var recalled = first
        recalled.original.isRecalled = true
        #expect(Self.pin(&it, recalled).code == .notFound)
        #expect(Self.pin(&it, recalled, enable: false).result == .pinned(it.state.info?.pinned ?? []))
        // In silence, too.
        let target = RecallTarget(
            seq: second.original.seq, sender: second.original.user, time: second.original.time, type: .text)
        let silent = it.run(.recall([target], NotifyOptions(notify: false)), by: .system)
        #expect(silent.shown.isEmpty && Self.pinned(it).isEmpty)
    }

    @Test func `a blacklisting that recalls takes the user's pins along`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        Self.pin(&it, message)
        it.facts.recalled = [
            RecallTarget(seq: message.original.seq, sender: user("bob"), time: message.original.time, type: .text)
        ]
        it.run(.setBlacklist(user("bob"), enable: true, NotifyOptions()), by: member("manager"))
        #expect(Self.pinned(it).isEmpty)
    }

    @Test func `what has expired makes place`() throws {
        var it = Dialogue()
        for number in 1...10 { Self.pin(&it, try Self.post(&it, "\(number)")) }
        it.pass(seconds: 1)
        it.facts.keptSince = it.now
        let message = try Self.post(&it)
        #expect(Self.pin(&it, message).error == nil)
        #expect(Self.pinned(it) == [message.id])
    }

    @Test func `what is no kept message of this life of the room is not found`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        #expect(it.run(.pin(messageID: message.id, enable: true, NotifyOptions()), by: .system).code == .notFound)
        for id in ["", "m", "1-1", message.id + "0"] {
            #expect(Self.pin(&it, (id, message.original)).code == .notFound, "\(id)")
        }
        var later = message
        later.original.seq = it.state.lastSeq + 1
        #expect(Self.pin(&it, later).code == .notFound)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(Self.pin(&it, message).code == .roomClosed)
    }

    @Test func `a repeat gets the first result, whatever was pinned since`() throws {
        var it = Dialogue()
        let (first, second) = (try Self.post(&it), try Self.post(&it))
        let answer = Self.pin(&it, first, key: 1)
        Self.pin(&it, second)
        Self.pin(&it, first, enable: false)
        #expect(Self.pin(&it, first, key: 1) == answer.suffix(1))
        // Nor does it need the fact.
        #expect(
            it.run(.pin(messageID: first.id, enable: true, NotifyOptions()), by: member("manager"), key: 1)
                == answer.suffix(1))
        #expect(Self.pinned(it) == [second.id])
    }

    @Test func `the answer to a change of the room has the pins, its memory has not`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        Self.pin(&it, message)
        var set = RoomChanges()
        set.name = "n"
        let effects = it.run(.updateRoom(set: set, NotifyOptions()), by: member("manager"), key: 1)
        guard case .room(let info)? = effects.result else { throw Refused() }
        #expect(info.pinned.map(\.messageID) == [message.id])
        #expect(it.run(.updateRoom(set: set, NotifyOptions()), by: member("manager"), key: 1) == effects.suffix(1))
        let memory = it.state.ledger.results[CommandKey(high: 7, low: 1)]
        guard case .room(let remembered)? = memory?.result else { throw Refused() }
        #expect(remembered.pinned.isEmpty)
    }

    @Test func `a deleted room that is had back has its pins`() throws {
        var it = Dialogue()
        let message = try Self.post(&it)
        Self.pin(&it, message)
        it.facts.keepDeletedSeconds = 60
        it.run(.deleteRoom, by: .system)
        it.run(.undeleteRoom, by: .system)
        #expect(Self.pinned(it) == [message.id])
    }

    private struct Refused: Error {}
}
