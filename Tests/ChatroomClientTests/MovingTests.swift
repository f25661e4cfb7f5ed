import ChatModel
import Testing
import Wire

@testable import ClientCore

/// How the client leaves a node that asks for it, without a word to the app.
@Suite struct MovingTests {
    /// The client is in the room at seq 10 and has been asked to leave; its successor is connection 2, which is not open.
    private static func moving(_ settings: ClientSettings = ClientSettings(), before: (Script) -> Void = { _ in })
        -> Script
    {
        let script = Script(settings)
        script.goIn()
        before(script)
        leave(script)
        return script
    }

    /// Asks the client to leave the connection in use, up to its successor.
    private static func leave(_ script: Script) {
        script.push(.reconnect(ReconnectPush(minMs: 0, maxMs: 0, cause: .drain, gateways: ["ws://b"])))
        for attempt in Script.tokens(script.pass(milliseconds: 1)) { script.happens(.token(attempt: attempt, "t2")) }
    }

    /// Everything that the app has learned of states, since that many effects.
    private static func states(_ script: Script, since count: Int) -> [ClientEffect] {
        script.effects.dropFirst(count).filter {
            switch $0 {
            case .clientEvent(.state), .roomEvent(_, .state), .stayEnded: true
            default: false
            }
        }
    }

    private static func say(_ script: Script, on connection: UInt64, _ item: ServerItem) {
        script.happens(.received(connection: connection, item))
    }

    private static let noLongerHere = ChatError(.unavailable, "no leader", retryAfterMs: 100)

    @Test func `nobody notices a move`() throws {
        let script = Script()
        script.goIn()
        let count = script.effects.count
        let (first, second, third) = (script.ticket(), script.ticket(), script.ticket())
        script.happens(.perform(ticket: first, Script.send("a")))
        Self.leave(script)
        #expect(script.latest.contains(.open(connection: 2, url: "ws://b")))
        script.happens(.perform(ticket: second, Script.send("b")))
        guard case .write(1, let asked)? = script.latest.last else { return #expect(Bool(false), "1 is in use") }
        script.happens(.opened(connection: 2))
        #expect(
            script.written.map(\.operation)
                == [.connect(ConnectRequest(token: "t2", session: SessionID("s"), prime: true))])
        let connect = script.written.first
        Self.say(script, on: 1, .push(.message(Script.message(11))))
        Self.say(script, on: 1, .reply(id: asked.id, .success(Script.sent(12))))
        Self.say(script, on: 1, .push(.message(Script.message(12))))
        #expect(script.outcome(second) == .success(.result(Script.sent(12))))

        script.answer(connect, .connect(Script.session(resumed: true)))
        #expect(script.latest.first == .close(connection: 1, code: 1000))
        #expect(script.written.map(\.operation.room) == [Script.room], "the room comes first")
        guard case .enter(let enter)? = script.written.first?.operation else { return #expect(Bool(false)) }
        #expect(enter.since == 12 && enter.epoch == "e")
        let request = script.written.first
        #expect(script.happens(.closed(connection: 1, code: 4410, reason: "")).isEmpty)
        Self.say(script, on: 1, .push(.message(Script.message(13))))
        #expect(script.latest.isEmpty, "nothing more of it is wanted")
        script.happens(.perform(ticket: third, Script.send("c")))
        #expect(script.written.isEmpty)

        script.answer(request, .enter(Script.resumed(seq: 14, missed: 13...14)))
        #expect(script.written.map(\.operation) == [Script.send("a"), Script.send("c")])
        for (seq, request) in zip(UInt64(15)..., script.written) { script.answer(request, Script.sent(seq)) }
        #expect(script.outcome(first) == .success(.result(Script.sent(15))))
        #expect(script.outcome(third) == .success(.result(Script.sent(16))))
        script.push(seq: 15)

        #expect(Self.states(script, since: count) == [])
        let events = Script.roomEvents(Array(script.effects.dropFirst(count)))
        #expect(Script.seqs(events) == [11, 12, 13, 14, 15])
        #expect(Script.deliveries(events).count { if case .sending = $0 { true } else { false } } == 3)
        #expect(Script.deliveries(events).count == 6, "sending and sent, nothing else")
        #expect(!events.contains { if case .gap = $0 { true } else { false } })
    }

    @Test func `4410 on the old connection may come before the answer on the new one`() {
        let script = Self.moving()
        let count = script.effects.count
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        script.happens(.opened(connection: 2))
        let connect = script.written.first
        script.happens(.closed(connection: 1, code: 4410, reason: "taken over"))
        script.happens(.perform(ticket: script.ticket(), Script.send("b")))
        #expect(script.written.isEmpty && script.core.state == .connected)
        script.answer(connect, .connect(Script.session(resumed: true)))
        script.answer(script.written.first, .enter(Script.resumed(seq: 10)))
        #expect(script.written.map(\.operation) == [Script.send("a"), Script.send("b")])
        #expect(Self.states(script, since: count) == [])
    }

    @Test func `a successor that fails after 4410 is a lost connection`() {
        let script = Self.moving()
        script.happens(.opened(connection: 2))
        script.happens(.closed(connection: 1, code: 4410, reason: "taken over"))
        script.happens(.closed(connection: 2, code: nil, reason: ""))
        #expect(script.core.state == .lost && script.roomEvents == [.state(.lost)])
        #expect(script.comeOn()?.operation.room == Script.room)
    }

    @Test func `4410 ends the client if it has not replaced the connection itself`() {
        let script = Self.moving()
        script.happens(.closed(connection: 1, code: 4410, reason: "taken over"))
        #expect(script.latest.contains(.clientEvent(.takenOver)))
        #expect(script.latest.contains(.close(connection: 2, code: 1000)))
        #expect(script.core.nextDeadline == nil)
    }

    @Test func `4410 for a successor whose answer was lost is followed by another attempt`() {
        let script = Self.moving()
        script.happens(.opened(connection: 2))
        script.happens(.closed(connection: 2, code: nil, reason: ""))
        script.happens(.closed(connection: 1, code: 4410, reason: "taken over"))
        #expect(!script.latest.contains(.clientEvent(.takenOver)) && script.core.state == .lost)
        #expect(script.comeOn()?.operation.room == Script.room)
    }

    /// A step of the attempt, and the way to it.
    enum Step: CaseIterable { case leaving, findingToken, opening, authenticating, waiting }

    @Test(arguments: Step.allCases) func `a connection that is lost during a move is followed by the attempt under way`(
        step: Step
    ) {
        let script = Script()
        script.goIn()
        script.push(.reconnect(ReconnectPush(minMs: 100, maxMs: 100, cause: .drain)))
        if step != .leaving { script.pass(milliseconds: 100) }
        if step != .leaving, step != .findingToken { script.happens(.token(attempt: 2, "t")) }
        if step == .authenticating { script.happens(.opened(connection: 2)) }
        if step == .waiting { script.happens(.closed(connection: 2, code: nil, reason: "refused")) }
        let connect = script.written.first
        script.happens(.closed(connection: 1, code: 1001, reason: "draining"))
        #expect(script.core.state == .lost && script.roomEvents.contains(.state(.lost)))
        switch step {
        case .leaving, .waiting: #expect(script.comeOn()?.operation.room == Script.room)
        case .findingToken: script.happens(.token(attempt: 2, "t"))
        case .opening, .authenticating: break
        }
        if script.core.state == .lost {
            if step != .authenticating { script.happens(.opened(connection: 2)) }
            script.answer(script.written.first ?? connect, .connect(Script.session(resumed: true)))
            #expect(script.written.first?.operation.room == Script.room)
        }
        #expect(script.core.state == .connected)
        #expect(script.connection == (step == .waiting ? 3 : 2))
    }

    @Test func `a successor that fails is followed by others in turn, and the connection in use stays so`() {
        let script = Script(addresses: ["ws://a", "ws://c"])
        script.goIn()
        let count = script.effects.count
        Self.leave(script)
        script.happens(.closed(connection: 2, code: nil, reason: "refused"))
        script.untilTokenIsWanted()
        // The provider of tokens fails, too.
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, nil)) }
        for refusal in [ChatError(.unauthorized, "no"), ChatError(.forbidden, "no"), Self.noLongerHere] {
            script.happens(.heard(connection: 1))
            script.untilTokenIsWanted()
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            script.happens(.opened(connection: script.connection))
            script.refuse(script.written.first, refusal)
            #expect(script.latest.contains(.close(connection: script.connection, code: 1000)))
        }
        let urls = script.effects.compactMap { if case .open(_, let url) = $0 { url } else { nil } }
        #expect(urls == ["ws://a", "ws://b", "ws://a", "ws://b", "ws://c"], "where it is comes last")
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        let send = script.written.first
        Self.say(script, on: 1, .reply(id: send?.id, .success(Script.sent(11))))
        #expect(script.outcome(ticket) == .success(.result(Script.sent(11))))
        #expect(Self.states(script, since: count) == [])
        #expect(script.comeOn()?.operation.room == Script.room)
    }

    @Test func `a successor that never answers is given up, and heard is only the connection in use`() {
        let script = Self.moving()
        script.happens(.opened(connection: 2))
        for _ in 0..<9 {
            script.pass(milliseconds: 1_000)
            script.happens(.heard(connection: 1))
        }
        let after = script.pass(milliseconds: 1_000)
        #expect(after.contains(.close(connection: 2, code: 1000)) && script.core.state == .connected)
        // The old one falls silent, and what the new ones say does not count for it.
        var dropped = false
        for _ in 0..<40 {
            script.happens(.heard(connection: script.connection))
            dropped = script.pass(milliseconds: 1_000).contains(.close(connection: 1, code: 1000)) || dropped
        }
        #expect(dropped && script.core.state == .lost)
    }

    @Test func `connect waits for answers to what must not be repeated, and other such requests wait for it`() {
        let script = Self.moving()
        let barrage = ClientOperation.barrage(BarrageRequest(room: Script.room, text: "x"))
        let (owed, next) = (script.ticket(), script.ticket())
        script.happens(.perform(ticket: owed, barrage))
        let asked = script.written.first
        script.happens(.opened(connection: 2))
        #expect(script.written.isEmpty)
        script.happens(.perform(ticket: next, barrage))
        #expect(script.written.isEmpty)
        Self.say(script, on: 1, .reply(id: asked?.id, .success(.barrage(BarrageResult()))))
        guard case .connect? = script.written.first?.operation else { return #expect(Bool(false), "must connect") }
        script.answer(script.written.first, .connect(Script.session(resumed: true)))
        script.answer(script.written.first, .enter(Script.resumed(seq: 10)))
        #expect(script.written.map(\.operation) == [barrage])
        #expect(script.outcome(owed) != nil && script.outcome(next) == nil)
    }

    @Test func `connect does not wait longer than a second`() {
        let script = Self.moving()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, .barrage(BarrageRequest(room: Script.room, text: "x"))))
        script.happens(.opened(connection: 2))
        #expect(Script.written(script.pass(milliseconds: 999)).isEmpty)
        let late = Script.written(script.pass(milliseconds: 1))
        script.answer(late.first, .connect(Script.session(resumed: true)))
        #expect(script.failure(ticket)?.code == .connectionLost)
        #expect(script.core.connectionState(of: Script.room) == .entered)
    }

    @Test func `what must not be repeated goes on the connection in use again when the successor fails`() {
        let script = Self.moving()
        script.happens(.opened(connection: 2))
        let barrage = ClientOperation.barrage(BarrageRequest(room: Script.room, text: "x"))
        script.happens(.perform(ticket: script.ticket(), barrage))
        #expect(script.written.isEmpty)
        script.happens(.closed(connection: 2, code: nil, reason: ""))
        #expect(script.written.map(\.operation) == [barrage])
    }

    @Test func `a room that cannot be entered on the new connection is lost after all`() {
        let script = Self.moving()
        script.happens(.opened(connection: 2))
        script.answer(script.written.first, .connect(Script.session(resumed: true)))
        script.refuse(script.written.first, Self.noLongerHere)
        #expect(script.roomEvents == [.state(.lost)])
        let again = Script.written(script.pass(milliseconds: 100))
        script.refuse(again.first, ChatError(.roomClosed, "closed"))
        guard case .state(.failed)? = script.roomEvents.last else { return #expect(Bool(false), "must have failed") }
    }

    @Test func `another session on the new connection is no loss`() {
        let script = Self.moving()
        let count = script.effects.count
        script.happens(.opened(connection: 2))
        script.answer(script.written.first, .connect(Script.session("other")))
        script.answer(script.written.first, .enter(Script.resumed(seq: 11, missed: 11...11)))
        #expect(Script.seqs(script.roomEvents) == [11])
        #expect(Self.states(script, since: count) == [])
    }

    @Test func `holes are told, and what was read is read again`() {
        let script = Self.moving { script in
            script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 11, to: 12)], cause: .slow)))
            script.push(seq: 15)
        }
        script.happens(.opened(connection: 2))
        script.answer(script.written.first, .connect(Script.session(resumed: true)))
        #expect(script.roomEvents == [.gap(Gap(ranges: [13...14], cause: .budget))])
        let enter = script.written.first
        #expect(Script.written(script.pass(milliseconds: 6_000)).isEmpty, "the room comes first")
        script.answer(enter, .enter(Script.resumed(seq: 15)))
        let reads = Script.written(script.pass(milliseconds: 6_000))
        guard case .history(let read)? = reads.first?.operation else { return #expect(Bool(false), "must read") }
        #expect(read.query.afterSeq == 10 && reads.count == 1)
    }

    @Test func `one push counts at a time`() {
        let script = Script()
        script.goIn()
        for url in ["ws://b", "ws://c"] {
            script.push(.reconnect(ReconnectPush(minMs: 10, maxMs: 10, cause: .drain, gateways: [url])))
        }
        for attempt in Script.tokens(script.pass(milliseconds: 10)) { script.happens(.token(attempt: attempt, "t")) }
        Self.say(script, on: 1, .push(.reconnect(ReconnectPush(minMs: 0, maxMs: 0, gateways: ["ws://d"]))))
        #expect(script.latest.isEmpty)
        let opened = script.effects.filter { if case .open = $0 { true } else { false } }
        #expect(opened == [.open(connection: 1, url: "ws://a"), .open(connection: 2, url: "ws://b")])
        // The node that was named is full, and names another.
        script.push(.reconnect(ReconnectPush(minMs: 300, maxMs: 300, cause: .full, gateways: ["ws://e"])))
        script.happens(.closed(connection: 2, code: 4429, reason: "full"))
        for attempt in Script.tokens(script.pass(milliseconds: 300)) { script.happens(.token(attempt: attempt, "t")) }
        #expect(script.latest.contains(.open(connection: 3, url: "ws://e")))
    }

    @Test func `a new connection may be left in its turn`() {
        let script = Self.moving()
        let count = script.effects.count
        for number in 2...5 as ClosedRange<UInt64> {
            script.happens(.opened(connection: number))
            script.answer(script.written.first, .connect(Script.session(resumed: true)))
            script.answer(script.written.first, .enter(Script.resumed(seq: 10)))
            Self.leave(script)
            #expect(script.connection == number + 1)
        }
        #expect(Self.states(script, since: count) == [])
    }

    @Test func `closing ends both connections, and leaves the rooms over the one in use`() {
        let script = Self.moving()
        script.happens(.opened(connection: 2))
        script.happens(.stop)
        guard case .write(1, let request)? = script.latest.first else { return #expect(Bool(false), "must leave") }
        #expect(request.operation == .exit(RoomNameRequest(room: Script.room)))
        #expect(script.latest.contains(.close(connection: 1, code: 1000)))
        #expect(script.latest.contains(.close(connection: 2, code: 1000)))
        #expect(script.core.nextDeadline == nil)
    }

    @Test(arguments: [1, 2] as [UInt64]) func `forced offline on either connection ends both`(number: UInt64) {
        let script = Self.moving()
        script.happens(.closed(connection: number, code: 4403, reason: ""))
        #expect(script.latest.contains(.clientEvent(.forcedOffline)))
        #expect(script.latest.contains(.close(connection: 3 - number, code: 1000)))
        #expect(script.core.nextDeadline == nil)
    }

    @Test func `a mistake ends the client on the connection in use, and an attempt on a successor`() {
        let script = Self.moving()
        script.happens(.closed(connection: 2, code: 1008, reason: ""))
        #expect(script.core.state == .connected)
        script.happens(.closed(connection: 1, code: 1008, reason: ""))
        guard case .failed = script.core.state else { return #expect(Bool(false), "must have failed") }
    }

    @Test(arguments: Step.allCases)
    func `a device that sleeps during a move wakes to a lost connection that comes back`(
        step: Step
    ) {
        let script = Script()
        script.goIn()
        script.push(.reconnect(ReconnectPush(minMs: 100, maxMs: 100, cause: .drain)))
        if step != .leaving { script.pass(milliseconds: 100) }
        if step != .leaving, step != .findingToken { script.happens(.token(attempt: 2, "t")) }
        if step == .authenticating { script.happens(.opened(connection: 2)) }
        if step == .waiting { script.happens(.closed(connection: 2, code: nil, reason: "refused")) }
        script.now = script.now.adding(milliseconds: 3_600_000)
        var steps = 0
        while let due = script.core.nextDeadline, due <= script.now {
            script.happens(.deadline)
            steps += 1
            guard steps < 20 else { return #expect(Bool(false), "must come to rest") }
        }
        #expect(script.effects.contains(.close(connection: 1, code: 1000)))
        #expect(script.core.state == .lost)
        script.happens(.closed(connection: script.connection, code: nil, reason: ""))
        script.untilTokenIsWanted()
        #expect(script.comeOn()?.operation.room == Script.room)
    }

    @Test(arguments: [0, 1]) func `a move counts no tries before the connection is lost`(count: Int) {
        var settings = ClientSettings()
        settings.reconnectRetryCount = count
        let script = Self.moving(settings)
        script.happens(.closed(connection: 1, code: 1001, reason: ""))
        #expect(script.latest.contains(.close(connection: 2, code: 1000)) == (count == 0))
        if case .failed = script.core.state { #expect(count == 0) } else { #expect(count == 1) }
    }
}
