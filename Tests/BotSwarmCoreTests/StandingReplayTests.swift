import BotSwarmCore
import ChatModel
import Testing

@Suite struct StandingReplayTests {
    @Test func `who is muted is not heard until he is unmuted`() throws {
        var room = try ReplayFixture()
        room.say(by: 1)
        room.notify(.muted([room.user(1)], true))
        room.say(by: 0)
        room.notify(.muted([room.user(1)], false))
        room.say(by: 1)
        #expect(room.close() == [:])
        var other = try ReplayFixture()
        other.notify(.muted([other.user(1)], true))
        other.say(by: 1)
        #expect(other.close() == [.heardAlthoughSilenced: 1])
    }

    @Test func `a temporary mute ends on time, or when it is lifted`() throws {
        for (time, isWrong) in [(3_999, true), (4_000, false)] as [(Int64, Bool)] {
            var room = try ReplayFixture()
            room.notify(.temporarilyMuted([room.user(1)], seconds: 3), time: 1_000)
            room.say(by: 1, time: time)
            #expect(room.close() == (isWrong ? [.heardAlthoughSilenced: 1] : [:]))
        }
        var room = try ReplayFixture()
        room.notify(.temporarilyMuted([room.user(1)], seconds: 3), time: 1_000)
        room.notify(.temporaryMuteLifted([room.user(1)]), time: 1_100)
        room.say(by: 1, time: 1_200)
        #expect(room.close() == [:])
    }

    @Test func `in a muted room only managers are heard`() throws {
        var room = try ReplayFixture()
        room.room.ledger.managers = [room.user(0)]
        room.notify(.roomMuted(true))
        room.say(by: 0)
        room.say(by: 1)
        #expect(room.close() == [.heardAlthoughSilenced: 1])
    }

    @Test func `an unkept message is judged by the place that it follows`() throws {
        for (after, isWrong) in [(0, false), (1, true)] as [(UInt64, Bool)] {
            var room = try ReplayFixture()
            let n = room.room.send(.unkept, by: 1)
            if !isWrong { for index in 0...1 { room.room.receive(room.room.unkept(n, after: after, by: 1), index) } }
            room.notify(.muted([room.user(1)], true))
            if isWrong { for index in 0...1 { room.room.receive(room.room.unkept(n, after: after, by: 1), index) } }
            #expect(room.close() == (isWrong ? [.heardAlthoughSilenced: 1] : [:]))
        }
    }

    @Test func `a refusal needs a reason in the stream`() throws {
        let codes: [(ErrorCode, (ReplayFixture) -> RoomEvent)] = [
            (.muted, { .muted([$0.user(1)], true) }), (.roomMuted, { _ in .roomMuted(true) }),
            (.notInRoom, { .kicked([$0.user(1)]) }), (.blacklisted, { .blacklisted([$0.user(1)], true) }),
        ]
        for (code, event) in codes {
            for hasReason in [true, false] {
                var room = try ReplayFixture(viewers: 3)
                if hasReason {
                    room.notify(event(room))
                    room.room.ledger.leave(room.room.viewers[1], kicked: false)
                }
                room.room.ledger.refusal(room.room.viewers[1], code, "a message", from: 0)
                let findings = room.close()
                #expect(findings[.wrongAnswer] == (hasReason ? nil : 1), "\(code), \(hasReason)")
            }
        }
    }

    @Test func `a refused message lies before the next one that was acked`() throws {
        var room = try ReplayFixture()
        let n = room.room.send(.kept, by: 1)
        room.room.ledger.refuse(n, of: room.room.viewers[1])
        room.room.ledger.refusal(room.room.viewers[1], .muted, "a message", from: 0, n: n)
        room.say(by: 1)
        room.notify(.muted([room.user(1)], true))
        #expect(room.close() == [.wrongAnswer: 1])
    }

    @Test func `who was put out is out, and gets nothing more`() throws {
        var room = try ReplayFixture()
        room.room.ledger.entry(room.room.viewers[1], at: 0, after: nil)
        room.notify(.kicked([room.user(1)]))
        #expect(room.close() == [.hereAlthoughPutOut: 1])

        var other = try ReplayFixture()
        other.notify(.kicked([other.user(1)]))
        other.room.ledger.leave(other.room.viewers[1], kicked: true)
        other.say(by: 0)
        other.room.receive(other.history[1], 1)
        #expect(other.room.ledger.findings.counts == [.hereAlthoughPutOut: 1])
    }

    @Test func `a kick that was told needs one in the stream`() throws {
        var room = try ReplayFixture(viewers: 3)
        room.room.ledger.leave(room.room.viewers[1], kicked: true)
        #expect(room.close()[.hereAlthoughPutOut] == 1)
    }
}
