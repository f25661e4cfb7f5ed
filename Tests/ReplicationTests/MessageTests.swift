import ChatModel
import Consensus
import Replication
import StorageTestKit
import Testing

@Suite struct MessageTests {
    private let bodies: [ReplicationMessage.Body] = [
        .askSnapshot(index: 9, next: 3, end: 7, isRepeat: true), .beginSnapshot(mark(9)),
        .snapshotChunk(number: 2, [UInt8](repeating: 5, count: 1_000)), .endSnapshot(chunks: 4, checksum: .max),
        .askDays(index: 9), .days([HistoryDay(day: -3, lastIndex: 0), HistoryDay(day: 20_000, lastIndex: .max)]),
        .days([]),
        .askHistory(HistoryQuestion(day: 20_000, cursor: [1, 2], changedAfter: 5, index: 9, offset: 200_000)),
        .history(HistoryPart(day: -1, cursor: [], offset: 0, total: 3, checksum: 7, bytes: [1, 2, 3], next: [4])),
        .history(HistoryPart(day: 0, cursor: [1], offset: 0, total: 0, checksum: 0, bytes: [], next: nil)),
        .abort(ReplicationError(.busy, "why")), .complete(store: .max, index: 9),
    ]

    @Test func `every message comes out as it went in`() throws {
        for body in bodies {
            let message = ReplicationMessage(group: .system, transfer: .max, body)
            #expect(try ReplicationMessage(decoding: message.encoded) == message)
        }
    }

    @Test func `a list of all the files of a shard fits into a frame of the bulk lane, and a longer one is refused`()
        throws
    {
        // The last day that a file is named after, with the longest life.
        let day = HistoryDay(day: 5 << 32 + 2_932_896, lastIndex: 1 << 48)
        let most = [HistoryDay](repeating: day, count: Limits.historyFilesPerShard)
        let message = ReplicationMessage(group: group, transfer: .max, .days(most))
        #expect(message.encoded.count < 256 << 10)
        #expect(try ReplicationMessage(decoding: message.encoded) == message)
        let more = ReplicationMessage(group: group, transfer: 1, .days(most + [day])).encoded
        #expect(throws: ReplicationError.self) { try ReplicationMessage(decoding: more) }
    }

    @Test func `a mark comes back from the disk, and other messages are none`() throws {
        #expect(try SnapshotMark(decoding: mark(7).encoded) == mark(7))
        let other = ReplicationMessage(group: group, transfer: 1, .days([]))
        #expect(throws: ReplicationError.self) { try SnapshotMark(decoding: other.encoded) }
    }

    @Test func `a chunk of the bound fits into a frame of the bulk lane, and one byte more is refused`() throws {
        let most = [UInt8](repeating: 1, count: TransferConfiguration.chunkBytesMax)
        let cursor = [UInt8](repeating: 2, count: 64)
        var part = HistoryPart(
            day: .min, cursor: cursor, offset: .max, total: .max, checksum: .max, bytes: most, next: cursor)
        let message = ReplicationMessage(group: group, transfer: .max, .history(part))
        #expect(message.encoded.count < 256 << 10)
        #expect(try ReplicationMessage(decoding: message.encoded) == message)
        part.bytes.append(1)
        let more = ReplicationMessage(group: group, transfer: 1, .history(part)).encoded
        #expect(throws: ReplicationError.self) { try ReplicationMessage(decoding: more) }
        part.bytes = []
        part.cursor.append(1)
        let longer = ReplicationMessage(group: group, transfer: 1, .history(part)).encoded
        #expect(throws: ReplicationError.self) { try ReplicationMessage(decoding: longer) }
    }

    @Test func `what is cut off or garbage is refused or another message, and ends`() {
        var random = SeededGenerator(seed: 5)
        func decodes(_ bytes: [UInt8]) -> Bool {
            do throws(ReplicationError) {
                _ = try ReplicationMessage(decoding: bytes)
                return true
            } catch {
                return error.code != .malformed
            }
        }
        for body in bodies {
            let bytes = ReplicationMessage(group: group, transfer: 1, body).encoded
            for cut in 0..<min(bytes.count, 60) { _ = decodes(Array(bytes[..<cut])) }
            for _ in 0..<50 {
                var damaged = bytes
                damaged[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                _ = decodes(damaged)
            }
        }
        #expect(!decodes([]))
        #expect(!decodes([0xFF, 0xFF, 0xFF]))
    }
}
