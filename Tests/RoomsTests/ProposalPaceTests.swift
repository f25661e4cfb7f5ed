import Testing

@testable import Rooms

struct ProposalPaceTests {
    private static let wait = ProposalPace.longestWaitNanoseconds

    @Test func `the first round begins at once, and so does each one after a committed one`() {
        var pace = ProposalPace()
        for turn in 0..<UInt64(100) {
            #expect(pace.mayBegin(commands: 1, isCommitted: true, atNanoseconds: turn))
            pace.began(atNanoseconds: turn)
        }
    }

    @Test func `commands wait for the round that is on its way`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 1_000)
        #expect(!pace.mayBegin(commands: 1, isCommitted: false, atNanoseconds: 1_000))
        #expect(!pace.mayBegin(commands: ProposalPace.largeCount - 1, isCommitted: false, atNanoseconds: 2_000))
        #expect(pace.mayBegin(commands: 1, isCommitted: true, atNanoseconds: 2_001), "it is committed")
    }

    @Test func `a round that is not committed is waited for no longer than the bound`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 1_000)
        #expect(pace.waitEnd == 1_000 + Self.wait)
        #expect(!pace.mayBegin(commands: 1, isCommitted: false, atNanoseconds: pace.waitEnd - 1))
        #expect(pace.mayBegin(commands: 1, isCommitted: false, atNanoseconds: pace.waitEnd))
        pace.began(atNanoseconds: pace.waitEnd)
        #expect(pace.waitEnd == 1_000 + 2 * Self.wait, "counted from the newest round")
    }

    @Test func `a large round waits for nothing`() {
        var pace = ProposalPace()
        pace.began(atNanoseconds: 0)
        #expect(pace.mayBegin(commands: ProposalPace.largeCount, isCommitted: false, atNanoseconds: 1))
    }
}
