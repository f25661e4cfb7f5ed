import ChatModel
import Testing

@testable import Gateway

/// The times at which a lane looks at connections, tokens and graces, as dialogues.
@Suite struct LaneAgendaTests {
    private var agenda = LaneAgenda()
    private let session: SessionID

    init() throws { session = TestGateway.session(1, at: try #require(NodeID("n1"))) }

    /// Both clocks; the wall clock was set ahead by so much.
    private func at(_ milliseconds: UInt64, wallAhead: Int64 = 1_000_000) -> LaneAgenda.Moment {
        LaneAgenda.Moment(milliseconds: milliseconds, time: Timestamp(Int64(milliseconds) + wallAhead))
    }

    private mutating func looks(at moment: LaneAgenda.Moment) -> [LaneAgenda.Step] {
        var steps: [LaneAgenda.Step] = []
        while let step = agenda.next(at: moment) { if step != .moved { steps.append(step) } }
        return steps
    }

    @Test mutating func `each thing is looked at when it is due, once, and nothing before`() {
        agenda.plan(1, at: 10_000, now: at(0))
        agenda.plan(2, at: 20_000, now: at(0))
        agenda.planToken(of: 1, at: Timestamp(1_015_000), now: at(0))
        agenda.planEnd(ofGraceOf: session, at: 30_000, now: at(0))
        #expect(looks(at: at(9_999)) == [])
        #expect(looks(at: at(10_200)) == [.connection(1)])
        #expect(looks(at: at(15_200)) == [.token(1)])
        #expect(looks(at: at(29_999)) == [.connection(2)])
        #expect(looks(at: at(30_200)) == [.grace(session)])
        #expect(looks(at: at(1_000_000)) == [])
    }

    @Test mutating func `a plan that is later than the one before changes nothing, and an earlier one counts`() {
        agenda.plan(1, at: 10_000, now: at(0))
        agenda.plan(1, at: 60_000, now: at(0))
        #expect(agenda.hasPlanned(1, by: 10_000) && !agenda.hasPlanned(1, by: 9_000))
        agenda.plan(1, at: 2_000, now: at(0))
        #expect(looks(at: at(2_200)) == [.connection(1)])
        #expect(!agenda.hasPlanned(1, by: .max))
    }

    @Test mutating func `those who have gone are not looked at`() {
        agenda.plan(1, at: 10_000, now: at(0))
        agenda.planToken(of: 1, at: Timestamp(1_010_000), now: at(0))
        agenda.planEnd(ofGraceOf: session, at: 10_000, now: at(0))
        agenda.forget(1)
        agenda.forget(session)
        #expect(looks(at: at(100_000)) == [])
    }

    @Test mutating func `a wall clock that is set ahead ends tokens at once, and nothing else`() {
        agenda.plan(1, at: 500_000, now: at(0))
        agenda.planToken(of: 1, at: Timestamp(1_400_000), now: at(0))
        #expect(looks(at: at(1_000)) == [])
        #expect(looks(at: at(1_100, wallAhead: 1_400_000)) == [.token(1)])
    }

    @Test mutating func `a wall clock that is set back ends no token early, and none late`() {
        agenda.planToken(of: 1, at: Timestamp(1_020_000), now: at(0))
        #expect(looks(at: at(10_000)) == [])
        #expect(looks(at: at(25_000, wallAhead: 900_000)) == [])
        #expect(looks(at: at(119_999, wallAhead: 900_000)) == [])
        #expect(looks(at: at(120_200, wallAhead: 900_000)) == [.token(1)])
    }

    @Test mutating func `the same plans give the same looks in the same order`() {
        var other = self
        for number in UInt64(0)..<1_000 {
            agenda.plan(number * 7919 % 1_000, at: number * 31 % 5_000, now: at(0))
            other.agenda.plan(number * 7919 % 1_000, at: number * 31 % 5_000, now: at(0))
        }
        let looks = looks(at: at(6_000))
        #expect(looks.count == 1_000 && looks == other.looks(at: at(6_000)))
    }
}
