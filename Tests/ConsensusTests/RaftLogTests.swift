import ChatModel
import Testing

@testable import Consensus

/// The log as a plain array, with the same operations.
private struct NaiveLog {
    var offset: UInt64 = 0
    var offsetTerm: UInt64 = 0
    var entries: [Entry] = []
    var handed: UInt64 = 0
    var persisted: UInt64 = 0
    var lastIndex: UInt64 { offset + UInt64(entries.count) }

    func term(at index: UInt64) -> UInt64? {
        index == offset ? offsetTerm : entries.first { $0.index == index }?.term
    }

    func lastIndex(upTo limit: UInt64, termAtMost term: UInt64) -> (UInt64, UInt64) {
        var index = min(limit, lastIndex)
        while let found = self.term(at: index) {
            if found <= term { return (index, found) }
            if index == 0 { break }
            index -= 1
        }
        return (min(index, offset > 0 ? offset - 1 : 0), 0)
    }
}

@Suite struct RaftLogTests {
    @Test func `it behaves as a plain array whatever is appended, cut, compacted and freed`() {
        var random = TestSeed.generator("log")
        for _ in 0..<40 {
            var log = RaftLog()
            var naive = NaiveLog()
            var term: UInt64 = 1
            var limit: UInt64 = 0
            for _ in 0..<150 {
                switch random.below(12) {
                case 0..<4:
                    term += UInt64(random.below(4) / 3)
                    for _ in 0...random.below(3) {
                        let payload = [UInt8](repeating: 1, count: random.below(50))
                        let entry = Entry(index: log.lastIndex + 1, term: term, kind: .command, payload: payload)
                        log.append(entry)
                        naive.entries.append(entry)
                    }
                case 4:
                    let index = max(limit, log.offset) + 1 + UInt64(random.below(5))
                    guard index <= log.lastIndex else { continue }
                    log.truncate(from: index)
                    naive.entries.removeAll { $0.index >= index }
                    naive.handed = min(naive.handed, index - 1)
                    naive.persisted = min(naive.persisted, index - 1)
                case 5, 6:
                    #expect(log.takeEntriesForStore() == naive.entries.filter { $0.index > naive.handed })
                    naive.handed = naive.lastIndex
                case 7, 8:
                    let index = naive.handed - min(naive.handed, UInt64(random.below(3)))
                    log.persisted(upTo: index)
                    naive.persisted = max(naive.persisted, index)
                case 9:
                    limit = max(limit, log.persistedIndex - min(log.persistedIndex, UInt64(random.below(4))))
                    log.trimWindow(bytesMax: 300, limit: limit)
                    #expect(log.windowBytes <= 300 || log.windowFirstIndex > min(limit, log.persistedIndex))
                case 10:
                    let index = log.offset + UInt64(random.below(4))
                    guard index <= limit, index <= naive.persisted, let found = naive.term(at: index) else { continue }
                    log.compact(upTo: index)
                    naive.entries.removeAll { $0.index <= index }
                    (naive.offset, naive.offsetTerm) = (index, found)
                default: break
                }
                compare(log, naive, &random)
            }
        }
    }

    private func compare(_ log: RaftLog, _ naive: NaiveLog, _ random: inout SplitMix64) {
        #expect(log.lastIndex == naive.lastIndex)
        #expect(log.lastTerm == naive.entries.last?.term ?? naive.offsetTerm)
        #expect(log.persistedIndex == naive.persisted)
        let around = naive.offset - min(naive.offset, 2)
        for index in around...(naive.lastIndex + 2) {
            #expect(log.term(at: index) == naive.term(at: index), "term at \(index)")
        }
        let (limit, term) = (around + UInt64(random.below(12)), UInt64(random.below(12)))
        let agreed = log.lastIndex(upTo: limit, termAtMost: term)
        #expect(agreed == naive.lastIndex(upTo: limit, termAtMost: term), "up to \(limit), term \(term)")
        if log.windowFirstIndex <= log.lastIndex {
            let inMemory = naive.entries.filter { $0.index >= log.windowFirstIndex }
            #expect(log.entries(from: log.windowFirstIndex, through: .max, bytesMax: .max) == inMemory)
            #expect(log.windowBytes == RaftLog.bytes(of: inMemory))
        }
    }

    @Test func `what is handed out is bounded in bytes but is at least one entry`() {
        var log = RaftLog()
        for index in UInt64(1)...4 {
            log.append(Entry(index: index, term: 1, kind: .command, payload: Array(repeating: 0, count: 36)))
        }
        #expect(log.entries(from: 1, through: 4, bytesMax: 0).map(\.index) == [1])
        #expect(log.entries(from: 2, through: 4, bytesMax: 200).map(\.index) == [2, 3])
        #expect(log.entries(from: 2, through: 2, bytesMax: 200).map(\.index) == [2])
        #expect(log.entries(from: 5, through: 9, bytesMax: 200).isEmpty)
    }

    @Test func `a late report of a save does not vouch for entries that replaced what it wrote`() {
        // The same index and term are written twice, with other entries in between.
        var ledger = SaveLedger()
        let first = ledger.begin(lastIndex: 5, hasHardState: false)
        ledger.truncated(after: 4)
        let second = ledger.begin(lastIndex: 5, hasHardState: true)
        ledger.truncated(after: 4)
        let third = ledger.begin(lastIndex: 5, hasHardState: true)
        #expect(ledger.complete(first)?.persistedIndex == 4)
        #expect(ledger.complete(second)?.persistedIndex == 4)
        #expect(!ledger.isHardStatePersisted)
        #expect(ledger.complete(third)?.persistedIndex == 5)
        #expect(ledger.isIdle && ledger.isHardStatePersisted)
    }
}
