import ChatModel
import Testing
import Wire

@testable import ClientCore

/// What becomes of a send, and of other requests.
@Suite struct SendingTests {
    @Test func `a send is sending, then sent`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        #expect(Script.deliveries(script.roomEvents) == [.sending])
        script.answer(script.written.first, Script.sent(11))
        let receipt = SendReceipt(
            clientID: "a", messageID: "m11", time: Timestamp(1), place: .kept(seq: 11))
        #expect(Script.deliveries(script.roomEvents) == [.sent(receipt)])
        #expect(script.outcome(ticket) == .success(.result(Script.sent(11))))
    }

    @Test func `a refused send has failed`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        script.refuse(script.written.first, ChatError(.muted, "muted"))
        let error = ClientError(ChatError(.muted, "muted"))
        #expect(Script.deliveries(script.roomEvents) == [.failed(error)])
        #expect(script.failure(ticket) == error)
    }

    @Test func `a lost ack is repaired with the same clientId after the room is entered again`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        #expect(Script.deliveries(script.roomEvents) == [.unknown])
        let enter = script.comeOn()
        #expect(script.written.count == 1, "the room comes first")
        script.answer(enter, .enter(Script.resumed(seq: 11, missed: 11...11)))
        #expect(script.written.map(\.operation) == [Script.send("a")])
        script.answer(script.written.first, Script.sent(11))
        guard case .sent = Script.deliveries(script.roomEvents).last else {
            return #expect(Bool(false), "must be sent")
        }
        #expect(script.outcome(ticket) == .success(.result(Script.sent(11))))
    }

    @Test func `a send is never repeated after 10 minutes`() {
        var settings = ClientSettings()
        settings.reconnectRetryCount = -1
        let script = Script(settings)
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        let sentAt = script.now
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        // Nothing answers for 10 minutes.
        while script.now.milliseconds - sentAt.milliseconds < 600_000, let due = script.core.nextDeadline {
            script.now = max(due, script.now)
            script.happens(.deadline)
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
        }
        #expect(script.failure(ticket)?.code == .outcomeUnknown)
        let statuses = Script.deliveries(Script.roomEvents(script.effects))
        #expect(statuses == [.sending, .unknown, .unknown])
        let sends = Script.written(script.effects).count { if case .send = $0.operation { true } else { false } }
        #expect(sends == 1)
        script.happens(.closed(connection: script.connection, code: nil, reason: ""))
        let enter = script.comeOn()
        script.answer(enter, .enter(Script.resumed(seq: 10)))
        #expect(script.written.isEmpty)
    }

    @Test func `just before the end of the 10 minutes it is repeated, just after it is not`() {
        for (milliseconds, repeats) in [(589_999, true), (590_000, false)] as [(Int64, Bool)] {
            let script = Script()
            script.goIn()
            script.happens(.perform(ticket: script.ticket(), Script.send("a")))
            let sentAt = script.now
            script.happens(.closed(connection: 1, code: nil, reason: ""))
            let enter = script.comeOn()
            script.now = sentAt.adding(milliseconds: milliseconds)
            // No alarm has come before the answer: a device that slept wakes like that.
            script.answer(enter, .enter(Script.resumed(seq: 10)))
            #expect(!script.written.isEmpty == repeats, "after \(milliseconds) ms")
        }
    }

    @Test func `what was never sent waits for the connection and fails when it does not come`() {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        #expect(script.written.isEmpty && script.outcome(ticket) == nil)
        script.happens(.stop)
        #expect(script.failure(ticket)?.code == .closed)
        guard case .failed = Script.deliveries(script.roomEvents).first else {
            return #expect(Bool(false), "it was never sent")
        }
    }

    @Test func `a rate refusal is waited for when it is short, and told when it is long`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        script.refuse(script.written.first, ChatError(.tooOften, "wait", retryAfterMs: 5_000))
        #expect(script.outcome(ticket) == nil)
        let again = Script.written(script.pass(milliseconds: 5_000))
        #expect(again.map(\.operation) == [Script.send("a")])
        script.refuse(again.first, ChatError(.tooOften, "wait", retryAfterMs: 5_001))
        #expect(script.failure(ticket)?.refusal?.retryAfterMs == 5_001)
    }

    /// All at once would be refused at once again, all but a few, at each repeat.
    @Test func `calls beyond the rate go on one at a time, in their order`() {
        let script = Script()
        script.goIn()
        let names = (0..<8).map { "m\($0)" }
        let tickets = names.map { name in
            let ticket = script.ticket()
            script.happens(.perform(ticket: ticket, Script.send(name)))
            return ticket
        }
        let sends = Script.written(script.effects).filter { if case .send = $0.operation { true } else { false } }
        script.answer(sends[0], Script.sent(11))
        for send in sends[1...] { script.refuse(send, ChatError(.tooOften, "wait", retryAfterMs: 100)) }
        // Another room's calls, and those of another kind, go as always.
        script.happens(.perform(ticket: script.ticket(), .room(RoomNameRequest(room: Script.room))))
        #expect(script.written.count == 1)
        var asked: [ClientRequest] = []
        for place in 1..<8 {
            // Every second one is refused once more.
            if asked.isEmpty { asked = Script.written(script.pass(milliseconds: 100)) }
            #expect(asked.map(\.operation) == [Script.send(names[place])])
            if place % 2 == 0 {
                script.refuse(asked.first, ChatError(.tooOften, "wait", retryAfterMs: 100))
                #expect(script.written.isEmpty)
                asked = Script.written(script.pass(milliseconds: 100))
                #expect(asked.map(\.operation) == [Script.send(names[place])])
            }
            script.answer(asked.first, Script.sent(UInt64(11 + place)))
            asked = script.written
        }
        #expect(asked.isEmpty)
        for ticket in tickets { #expect(script.outcome(ticket) != nil && script.failure(ticket) == nil) }
        // From here on they go out at once again.
        for name in ["x", "y"] {
            script.happens(.perform(ticket: script.ticket(), Script.send(name)))
            #expect(script.written.map(\.operation) == [Script.send(name)])
        }
    }

    @Test func `the turn passes on where a call is given up, and over a lost connection`() {
        let script = Script()
        script.goIn()
        for name in ["a", "b", "c"] { script.happens(.perform(ticket: script.ticket(), Script.send(name))) }
        let sends = Script.written(script.effects).suffix(3)
        for send in sends { script.refuse(send, ChatError(.tooOften, "wait", retryAfterMs: 100)) }
        let first = Script.written(script.pass(milliseconds: 100))
        script.refuse(first.first, ChatError(.muted, "muted"))
        #expect(script.written.map(\.operation) == [Script.send("b")])
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 10)))
        #expect(script.written.map(\.operation) == [Script.send("b")])
        script.answer(script.written.first, Script.sent(11))
        #expect(script.written.map(\.operation) == [Script.send("c")])
    }

    @Test func `a lasting fault is told after three repeats`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        var request = script.written.first
        var count = 0
        while let asked = request, count < 10 {
            count += 1
            script.refuse(asked, ChatError(.internal, "broken", retryAfterMs: 10))
            request = Script.written(script.pass(milliseconds: 10)).first
        }
        #expect(count == 4)
        #expect(script.failure(ticket)?.refusal?.code == .internal)
    }

    @Test func `a barrage that was under way is not repeated`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, .barrage(BarrageRequest(room: Script.room, text: "x"))))
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        #expect(script.failure(ticket)?.code == .connectionLost)
    }

    @Test func `reads are asked again on the next connection, in the order in which they were asked`() {
        let script = Script()
        script.goIn()
        let reads: [ClientOperation] = [
            .room(RoomNameRequest(room: Script.room)), .queue(QueueRequest(room: Script.room)),
            .members(MembersRequest(room: Script.room, kind: .fixed)),
        ]
        for read in reads { script.happens(.perform(ticket: script.ticket(), read)) }
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 10)))
        #expect(script.written.map(\.operation) == reads)
    }

    @Test func `a read that nobody answers ends after 30 s`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, .room(RoomNameRequest(room: Script.room))))
        for _ in 0..<29 {
            script.pass(milliseconds: 1_000)
            script.happens(.heard(connection: 1))
        }
        script.pass(milliseconds: 999)
        #expect(script.outcome(ticket) == nil)
        script.pass(milliseconds: 1)
        #expect(script.failure(ticket)?.code == .timedOut)
    }

    @Test func `no more than 256 requests wait`() {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        var last: UInt64 = 0
        for number in 1...256 {
            last = script.ticket()
            script.happens(.perform(ticket: last, Script.send("c\(number)")))
        }
        #expect(script.outcome(last) == nil)
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("one more")))
        #expect(script.failure(ticket)?.code == .tooManyPending)
    }

    @Test func `requests outside of a stay or a connection fail at once`() {
        let script = Script()
        let early = script.ticket()
        script.happens(.perform(ticket: early, .ping))
        #expect(script.failure(early)?.code == .notConnected)
        script.goOnline()
        let outside = script.ticket()
        script.happens(.perform(ticket: outside, Script.send("a")))
        #expect(script.failure(outside)?.code == .notInRoom)
        let exit = script.ticket()
        script.happens(.exit(ticket: exit, Script.room))
        #expect(script.failure(exit)?.code == .notInRoom)
    }

    @Test func `an answer to nothing changes nothing`() {
        let script = Script()
        script.goIn()
        script.happens(.received(connection: 1, .reply(id: 4_000, .success(.exit))))
        script.happens(.received(connection: 1, .reply(id: nil, .failure(ChatError(.malformed, "what?")))))
        script.happens(.received(connection: 77, .push(.token(TokenPush(expiresInSeconds: 1)))))
        #expect(Script.written(script.latest).isEmpty && script.core.state == .connected)
    }
}
