import Testing

@testable import Rooms

@Suite struct ProposalPaceTests {
    @Test func `nobody waits while there is little to do`() {
        var pace = ProposalPace()
        for now in stride(from: 1_000 as UInt64, to: 2_000, by: 1) {
            #expect(pace.wait(at: now) == 0)
            pace.proposed(1, at: now)
        }
    }

    @Test func `nineteen commands in a window are no load, and twenty are`() {
        var pace = ProposalPace()
        pace.proposed(19, at: 1_000)
        #expect(pace.wait(at: 1_000) == 0)
        pace.proposed(1, at: 1_000)
        #expect(pace.wait(at: 1_000) == 4)
        #expect(pace.wait(at: 1_003) == 1)
        #expect(pace.wait(at: 1_004) == 0)
    }

    @Test func `under steady load there is one proposal every four milliseconds`() {
        var pace = ProposalPace()
        pace.proposed(50, at: 1_000)
        var proposals = 0
        for now in 1_001...1_400 as ClosedRange<UInt64> where pace.wait(at: now) == 0 {
            proposals += 1
            pace.proposed(20, at: now)
        }
        #expect(proposals == 100)
    }

    @Test func `when the load has gone, the next command goes at once`() {
        var pace = ProposalPace()
        pace.proposed(1_000, at: 1_000)
        #expect(pace.wait(at: 1_001) == 3)
        #expect(pace.wait(at: 1_021) == 0)
        pace.proposed(1, at: 1_021)
        #expect(pace.wait(at: 1_021) == 0)
        // A loop's clock does not go back; if it did, nobody would wait longer than one pause.
        #expect(pace.wait(at: 5) <= 4)
    }
}
