import Testing

@testable import Rooms

struct ProposalPaceTests {
    private static let wait = ProposalPace.longestWaitNanoseconds

    @Test func `alone, the next round begins when the one before is committed`() {
        var pace = ProposalPace()
        for turn in 0..<UInt64(100) {
            #expect(pace.mayBegin(commands: 1, atNanoseconds: turn))
            pace.began(atNanoseconds: turn)
            #expect(!pace.mayBegin(commands: 1, atNanoseconds: turn))
            pace.committed(isReplicated: false, atNanoseconds: turn)
        }
    }

    @Test func `with replicas, a loop rests for twice as long as the round took`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 1_000)
        pace.committed(isReplicated: true, atNanoseconds: 1_500)
        #expect(pace.waitEnd == 2_500)
        #expect(!pace.mayBegin(commands: 1, atNanoseconds: 2_499))
        #expect(pace.mayBegin(commands: 1, atNanoseconds: 2_500))
    }

    @Test func `nobody waits for longer than the bound, for a round or for a rest`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 1_000)
        #expect(pace.waitEnd == 1_000 + Self.wait)
        #expect(!pace.mayBegin(commands: 1, atNanoseconds: pace.waitEnd - 1))
        #expect(pace.mayBegin(commands: 1, atNanoseconds: pace.waitEnd))
        pace.committed(isReplicated: true, atNanoseconds: 1_000 + Self.wait / 2)
        #expect(pace.waitEnd == 1_000 + Self.wait)
        pace.began(atNanoseconds: 2 * Self.wait)
        #expect(pace.waitEnd == 3 * Self.wait, "counted from the newest round")
        pace.committed(isReplicated: true, atNanoseconds: 9 * Self.wait)
        #expect(pace.mayBegin(commands: 1, atNanoseconds: 9 * Self.wait), "the bound is over")
    }

    @Test func `a large round waits for nothing`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 0)
        #expect(!pace.mayBegin(commands: ProposalPace.largeCount - 1, atNanoseconds: 1))
        #expect(pace.mayBegin(commands: ProposalPace.largeCount, atNanoseconds: 1))
    }
}
