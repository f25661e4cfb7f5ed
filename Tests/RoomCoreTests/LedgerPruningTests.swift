import ChatModel
import Testing

@testable import RoomCore

@Suite struct LedgerPruningTests {
    private func memory(_ index: UInt64, _ time: Timestamp) -> CommandMemory {
        CommandMemory(result: .done, time: time, index: index, owner: index % 5)
    }

    /// A ledger that was made anew knows nothing of earlier looks.
    @Test func `a ledger forgets the same as one that was made anew`() {
        var random = SplitMix64(seed: 42)
        var ledger = CommandLedger(userBytesMax: 9_000, roomBytesMax: 40_000)
        var time = Timestamp(1_000_000)
        var forgotten = 0
        for index in UInt64(1)...5_000 {
            // Some come again, and some share an entry of the log.
            if index % 2 == 0 { time = time.adding(milliseconds: Int64(random.next() % 9_000)) }
            let key = CommandKey(high: 1, low: random.next() % 1_000)
            if random.next() % 3 > 0 { _ = ledger.remember(memory(index / 2, time), of: key) }
            var anew = CommandLedger(
                results: ledger.results.map { ($0.key, $0.value) }, userBytesMax: 9_000, roomBytesMax: 40_000)
            let pruned = ledger.prune(at: time)
            #expect(Set(pruned) == Set(anew.prune(at: time)))
            #expect(Set(ledger.results.keys) == Set(anew.results.keys))
            #expect(ledger.nextSweep == anew.nextSweep)
            forgotten += pruned.count
        }
        #expect(forgotten > 100)
    }
}
