import Testing

@testable import Rooms

struct ProposalPaceTests {
    private static let wait = ProposalPace.longestWaitNanoseconds

    @Test func `the next round begins when the one before is committed`() {
        var pace = ProposalPace()
        for turn in 0..<UInt64(100) {
            #expect(pace.mayBegin(commands: 1, atNanoseconds: turn))
            pace.began(atNanoseconds: turn)
            #expect(!pace.mayBegin(commands: ProposalPace.largeCount - 1, atNanoseconds: turn))
            pace.committed()
        }
    }

    @Test func `a round that is not committed is waited for no longer than the bound`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 1_000)
        #expect(pace.waitEnd == 1_000 + Self.wait)
        #expect(!pace.mayBegin(commands: 1, atNanoseconds: pace.waitEnd - 1))
        #expect(pace.mayBegin(commands: 1, atNanoseconds: pace.waitEnd))
        pace.began(atNanoseconds: 2 * Self.wait)
        #expect(pace.waitEnd == 3 * Self.wait, "counted from the newest round")
    }

    @Test func `a large round waits for nothing`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 0)
        #expect(pace.mayBegin(commands: ProposalPace.largeCount, atNanoseconds: 1))
    }
}
