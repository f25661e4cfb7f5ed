import ChatModel
import Testing
import Wire

@testable import ClientCore

/// Words of a later version of the protocol are shown or ignored, never a failure (PROTOCOL.md, "Codes").
@Suite struct LaterVersionTests {
    private static func hologram(_ seq: UInt64) -> Message {
        var message = Script.message(seq)
        message.body = .unknown("HOLOGRAM")
        return message
    }

    private static func event399(_ place: MessagePlace) -> Message {
        var notification = Notification(.unknown)
        notification.data = .unknown(event: 399)
        var message = Script.message(0)
        (message.place, message.body) = (place, .notification(notification))
        return message
    }

    /// The messages that came as unsupported.
    private static func unsupported(_ events: [RoomEvent]) -> [Message?] {
        events.compactMap { if case .unsupported(let what) = $0 { .some(what.message) } else { nil } }
    }

    @Test func `unknown types and events are told in their place, and the order goes on behind them`() {
        let script = Script()
        script.goIn(seq: 10)
        let pushes = [
            Self.hologram(11), Script.message(12), Self.event399(.kept(seq: 13)), Self.event399(.unkept(after: 13)),
            Self.hologram(11), Script.message(14),
        ]
        var events: [RoomEvent] = []
        for push in pushes {
            script.push(.message(push))
            events += script.roomEvents
        }
        #expect(events.count == 5, "one of them came twice")
        #expect(Self.unsupported(events) == [pushes[0], pushes[2], pushes[3]])
        #expect(Script.seqs(events) == [12, 14])
        guard case .unsupported(let what) = events.first else { return #expect(Bool(false), "must be told") }
        #expect(what.summary.contains("HOLOGRAM"))
    }

    @Test func `a recalled message is one, whatever its type was`() {
        let script = Script()
        script.goIn(seq: 10)
        var message = Script.message(11)
        message.body = .recalled(.unknown)
        script.push(.message(message))
        #expect(script.roomEvents == [.message(message)])
    }

    @Test func `among what was missed and what a gap left out they are told likewise`() {
        let script = Script()
        script.goIn(seq: 10)
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 11, to: 12)], cause: .slow)))
        let reads = Script.written(script.pass(milliseconds: 5_000))
        let page = MessagesResult(messages: [Script.message(11), Self.hologram(12)], more: false)
        script.answer(reads.first, .history(page))
        #expect(script.roomEvents.first == .filled([Script.message(11)]))
        #expect(Self.unsupported(script.roomEvents) == [Self.hologram(12)])
        #expect(script.roomEvents.count == 2)
        let enter = script.comeBack()
        var result = Script.resumed(seq: 14, missed: 13...14)
        result.missed?[0] = Self.hologram(13)
        script.answer(enter, .enter(result))
        #expect(Self.unsupported(script.roomEvents) == [Self.hologram(13)])
        #expect(Script.seqs(script.roomEvents) == [14])
    }

    @Test func `outside of rooms they are told by the client`() {
        let script = Script()
        script.goOnline()
        for push in [Push.broadcast(Self.hologram(0)), .direct(Self.event399(.outside))] {
            script.push(push)
            guard case .clientEvent(.unsupported(let what)) = script.latest.first else {
                return #expect(Bool(false), "must be told")
            }
            #expect(what.message != nil && script.latest.count == 1)
        }
    }

    @Test func `a refusal that is unknown is the answer at once, and ends an entry`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        let later = ChatError(.unknown, "13010 TOO_LOUD: not so loud")
        script.refuse(script.written.first, later)
        #expect(script.failure(ticket)?.refusal == later)
        #expect(script.failure(ticket)?.message == "13010 TOO_LOUD: not so loud")
        guard case .failed = Script.deliveries(script.roomEvents).last else {
            return #expect(Bool(false), "must have failed")
        }
        let enter = script.comeBack()
        script.refuse(enter, later)
        guard case .state(.failed(let error)) = script.roomEvents.last else {
            return #expect(Bool(false), "must have failed")
        }
        #expect(error.refusal == later && script.core.state == .connected)
    }

    @Test func `a kick ends the stay for whatever reason`() {
        let script = Script()
        script.goIn()
        script.push(.kicked(KickedPush(room: Script.room, reason: .unknown)))
        #expect(script.roomEvents.first == .kicked(Kick(reason: .unknown)))
        #expect(script.latest.last == .stayEnded(Script.room))
        #expect(script.comeBack() == nil)
    }

    @Test func `something unknown is told and nothing else happens`() {
        let script = Script()
        script.goIn()
        script.happens(.received(connection: 1, .unknown))
        #expect(script.latest.count == 1)
        guard case .clientEvent(.unsupported) = script.latest.first else {
            return #expect(Bool(false), "must be told")
        }
    }

    @Test func `a consumer that did not take one in time is told of its seq`() {
        var buffer = EventBuffer<RoomOverflow>(eventsMax: 1)
        let unkept = Self.event399(.unkept(after: 12))
        for message in [Script.message(11), Self.hologram(12), unkept] { buffer.append(RoomEvent(message)) }
        buffer.append(.unsupported(Unsupported("something else")))
        #expect(buffer.next() == .message(Script.message(11)))
        #expect(buffer.next() == .gap(Gap(ranges: [12...12], cause: .consumer)))
        #expect(buffer.next() == .skipped(Skipped(unkept: 1, events: 1)))
        #expect(buffer.next() == nil)
    }
}
