import Testing

@testable import Rooms

struct ProposalPaceTests {
    private static let window = ProposalPace.windowNanoseconds

    private func begins(_ pace: ProposalPace, _ commands: Int, at now: UInt64) -> Bool {
        var pace = pace
        return pace.mayBegin(commands: commands, atNanoseconds: now)
    }

    @Test func `with few commands every round begins at once`() {
        var pace = ProposalPace()
        for turn in 0..<UInt64(100) {
            let now = turn * Self.window / 2 + 1
            #expect(begins(pace, 1, at: now))
            pace.began(commands: 1, atNanoseconds: now)
        }
    }

    @Test func `once commands are many, there is one round in a window`() {
        var pace = ProposalPace()
        let begin = 10 * Self.window
        #expect(begins(pace, 100, at: begin), "the first waits for nothing")
        pace.began(commands: 100, atNanoseconds: begin)
        #expect(!begins(pace, 1, at: begin + 1))
        #expect(!begins(pace, 1, at: begin + Self.window - 1))
        #expect(pace.windowEnd == begin + Self.window)
        #expect(begins(pace, 1, at: pace.windowEnd))
        pace.began(commands: 1, atNanoseconds: begin + Self.window)
        #expect(!begins(pace, 1, at: begin + Self.window + 1), "the window before was busy")
    }

    @Test func `a window in which little came ends the waiting`() {
        var pace = ProposalPace()
        pace.began(commands: 100, atNanoseconds: 10 * Self.window)
        pace.began(commands: 1, atNanoseconds: 11 * Self.window)
        let now = 12 * Self.window
        pace.began(commands: 1, atNanoseconds: now)
        #expect(begins(pace, 1, at: now + 1))
    }

    @Test func `so does a pause`() {
        var pace = ProposalPace()
        pace.began(commands: 100, atNanoseconds: 10 * Self.window)
        pace.began(commands: 1, atNanoseconds: 12 * Self.window)
        #expect(begins(pace, 1, at: 12 * Self.window + 1))
    }

    @Test func `a large round waits for nothing`() {
        var pace = ProposalPace()
        pace.began(commands: 100, atNanoseconds: 0)
        #expect(!begins(pace, ProposalPace.largeCount - 1, at: 1))
        #expect(begins(pace, ProposalPace.largeCount, at: 1))
    }
}
