import Testing

@testable import Rooms

struct ProposalPaceTests {
    private static let window = ProposalPace.windowNanoseconds

    @Test func `with few commands every round begins at once`() {
        var pace = ProposalPace()
        for turn in 0..<UInt64(100) {
            let now = turn * Self.window / 2 + 1
            #expect(pace.mayBegin(commands: 1, atNanoseconds: now))
            pace.began(commands: 1, atNanoseconds: now)
        }
    }

    @Test func `once commands are many, there is one round in a window`() {
        var pace = ProposalPace()
        let begin = 10 * Self.window
        #expect(pace.mayBegin(commands: 100, atNanoseconds: begin), "the first waits for nothing")
        pace.began(commands: 100, atNanoseconds: begin)
        #expect(!pace.mayBegin(commands: 1, atNanoseconds: begin + 1))
        #expect(!pace.mayBegin(commands: 1, atNanoseconds: begin + Self.window - 1))
        #expect(pace.windowEnd == begin + Self.window)
        #expect(pace.mayBegin(commands: 1, atNanoseconds: pace.windowEnd))
        pace.began(commands: 1, atNanoseconds: begin + Self.window)
        #expect(!pace.mayBegin(commands: 1, atNanoseconds: begin + Self.window + 1), "the window before was busy")
    }

    @Test func `a window in which little came ends the waiting`() {
        var pace = ProposalPace()
        pace.began(commands: 100, atNanoseconds: 10 * Self.window)
        pace.began(commands: 1, atNanoseconds: 11 * Self.window)
        let now = 12 * Self.window
        pace.began(commands: 1, atNanoseconds: now)
        #expect(pace.mayBegin(commands: 1, atNanoseconds: now + 1))
    }

    @Test func `so does a pause`() {
        var pace = ProposalPace()
        pace.began(commands: 100, atNanoseconds: 10 * Self.window)
        pace.began(commands: 1, atNanoseconds: 12 * Self.window)
        #expect(pace.mayBegin(commands: 1, atNanoseconds: 12 * Self.window + 1))
    }

    @Test func `a large round waits for nothing`() {
        var pace = ProposalPace()
        pace.began(commands: 100, atNanoseconds: 0)
        #expect(!pace.mayBegin(commands: ProposalPace.largeCount - 1, atNanoseconds: 1))
        #expect(pace.mayBegin(commands: ProposalPace.largeCount, atNanoseconds: 1))
    }
}
