import ChatModel
import History
import Testing

/// Every file that a shard can have reaches a new replica.
@Suite struct HistoryFileCountTests {
    @Test func `the messages name as many files as all lives together can have`() {
        // The nodes' own setting is at most that of the longest life. A life of n days has n + 1 files.
        let lives = HistoryLife.allCases.map { ($0.days ?? Limits.historyDays) + 1 }
        #expect(lives.reduce(0, +) <= Int64(Limits.historyFilesPerShard))
    }
}
