import ChatModel
import StorageTestKit
import Testing

@testable import History

/// A replica that begins from a snapshot and replays what follows equals its source row by row, whatever happens
/// meanwhile.
@Suite struct ReplicaPropertyTests {
    /// A log of random changes; entry i brings batch i.
    private struct Log {
        private(set) var batches: [StorageBatch] = []
        private var random: SeededGenerator
        private var lives: [UInt64]
        private var messages: [(incarnation: Incarnation, seq: UInt64, day: Int64, isRecalled: Bool)] = []
        private var nextSeq: UInt64 = 1

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            lives = [UInt64](repeating: 1, count: 4)
        }

        var lastIndex: UInt64 { UInt64(batches.count) }

        mutating func append() throws {
            let index = lastIndex + 1
            let number = Int.random(in: 0..<lives.count, using: &random)
            let life = Incarnation(lives[number] << 24 | UInt64(number))
            let name = "room\(number)"
            var batch = StorageBatch(appliedIndex: index)
            batch.catalogue.append(
                CatalogueRow(
                    room: try room(name), incarnation: life, kind: CatalogueKind.room.rawValue, key: "",
                    value: [UInt8(truncatingIfNeeded: index)], index: index))
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4:
                let time = noon.adding(seconds: Int64(index) * 2_000 - 86_400 * 4)
                let bytes = Int.random(in: 0...120, using: &random)
                batch.history.append(row(nextSeq, at: time, index: index, of: life, bytes: bytes))
                messages.append((life, nextSeq, time.day, false))
                nextSeq += 1
            case 5...6:
                // Each is recalled once.
                let places = messages.indices.filter { !messages[$0].isRecalled }
                guard let place = places.randomElement(using: &random) else { break }
                let message = messages[place]
                // Sometimes the recall of something that was never there.
                let isStray = Int.random(in: 0..<5, using: &random) == 0
                if !isStray { messages[place].isRecalled = true }
                batch.erasures.append(
                    Erasure(
                        incarnation: message.incarnation, seq: isStray ? 1_000_000 + index : message.seq,
                        day: message.day, index: index, replacement: Bool.random(using: &random) ? [7] : nil))
            case 7...8:
                let user = "user\(Int.random(in: 0..<6, using: &random))"
                let isRemoved = Bool.random(using: &random)
                batch.catalogue.append(
                    CatalogueRow(
                        room: try room(name), incarnation: life, kind: CatalogueKind.member.rawValue, key: user,
                        value: isRemoved ? nil : [UInt8](repeating: 3, count: Int.random(in: 0...300, using: &random)),
                        deadline: Bool.random(using: &random) ? noon : nil, index: index))
            default:
                batch.catalogue = []
                batch.retired.append(RetiredRoom(room: try room(name), incarnation: life))
                lives[number] = index
            }
            batches.append(batch)
        }

        /// Applies entries up to `index`; the storage knows where it is.
        func apply(to storage: ShardStorage, after applied: inout UInt64, through index: UInt64) {
            while applied < index {
                storage.write(batches[Int(applied)])
                applied += 1
            }
        }
    }

    @Test(arguments: SeededGenerator.seeds(4))
    func `source and replica are equal row by row`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: ~seed)
        var log = Log(seed: seed)
        let (there, here) = (try TestShard(), try TestShard())
        let source = try there.open()
        defer { source.close() }
        var storage = try here.open()
        var (sourceApplied, applied): (UInt64, UInt64) = (0, 0)
        func grow(_ count: Int) throws {
            for _ in 0..<count { try log.append() }
            log.apply(to: source, after: &sourceApplied, through: log.lastIndex)
        }
        try grow(.random(in: 0...40, using: &random))
        log.apply(to: storage, after: &applied, through: sourceApplied)
        if Bool.random(using: &random) { _ = try await storage.checkpoint() }
        for round in 0..<2 {
            // The replica falls behind and gets a snapshot.
            try grow(.random(in: 20...60, using: &random))
            let reader = try await source.openSnapshot()
            try await storage.beginInstall(index: reader.index)
            while true {
                let bytes = try await reader.next(.random(in: 1...2_000, using: &random))
                if bytes.isEmpty { break }
                try await storage.installSnapshot(bytes)
                try grow(.random(in: 0...2, using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 { _ = try await source.checkpoint() }
            }
            reader.close()
            try await storage.finishInstall()
            applied = reader.index
            #expect(storage.appliedIndex == applied, "seed \(seed)")
            // It follows, and gets older history at the same time.
            var steps = round == 0 ? Int.random(in: 0...30, using: &random) : .max
            while steps > 0, !storage.isHistoryComplete {
                steps -= 1
                switch Int.random(in: 0..<8, using: &random) {
                case 0: try grow(1)
                case 1...2:
                    let through = min(sourceApplied, applied + .random(in: 0...5, using: &random))
                    log.apply(to: storage, after: &applied, through: through)
                case 3: _ = try await storage.checkpoint()
                case 4 where Int.random(in: 0..<6, using: &random) == 0:
                    storage.close()
                    storage = try here.open()
                    applied = storage.appliedIndex
                default:
                    let bytes = Int.random(in: 1...600, using: &random)
                    _ = try await storage.backfillOnce(from: source, bytesMax: bytes)
                }
            }
        }
        log.apply(to: storage, after: &applied, through: sourceApplied)
        #expect(storage.isHistoryComplete)
        #expect(try await storage.snapshotBytes().bytes == source.snapshotBytes().bytes, "seed \(seed)")
        #expect(try await storage.historyBytes() == source.historyBytes(), "seed \(seed)")
        storage.close()
    }
}
