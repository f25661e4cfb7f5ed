import ChatModel
import Testing

@testable import Consensus

@Suite struct QuorumTests {
    @Test func `the reached value equals that of the sorted list`() {
        var random = TestSeed.generator("quorum")
        for _ in 0..<2_000 {
            let values = (0..<random.below(8)).map { _ in UInt64(random.below(6)) }
            // In descending order the majority's last member is at position size - 1.
            let expected = values.isEmpty ? 0 : values.sorted(by: >)[values.count / 2]
            #expect(Quorum.reached(values) == expected, "\(values)")
        }
    }

    @Test func `two majorities of one membership overlap`() {
        for voters in 1...16 { #expect(2 * Quorum.size(voters: voters) > voters) }
    }

    @Test func `majorities overlap when one server joins or leaves`() {
        for voters in 1...16 { #expect(Quorum.size(voters: voters) + Quorum.size(voters: voters + 1) > voters + 1) }
    }

    @Test func `an election is decided as soon as it can be and never twice`() {
        for voters in 0...7 {
            for granted in 0...voters {
                for rejected in 0...(voters - granted) {
                    let open = voters - granted - rejected
                    let canWin = voters > 0 && granted + open > voters / 2
                    let result = Quorum.result(granted: granted, rejected: rejected, voters: voters)
                    if granted > voters / 2 {
                        #expect(result == .won)
                    } else if canWin {
                        #expect(result == .pending)
                    } else {
                        #expect(result == .lost)
                    }
                }
            }
        }
    }
}
