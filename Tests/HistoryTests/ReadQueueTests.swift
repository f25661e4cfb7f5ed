import ChatModel
import Testing

@testable import History

@Suite struct ReadQueueTests {
    @Test func `rooms take turns, in a room its readers, and of one reader the reads`() {
        var queue = ReadQueue<String>()
        let (ann, bob) = (HistoryReader(), HistoryReader())
        for number in 1...3 { queue.append("ann \(number)", room: 1, reader: ObjectIdentifier(ann)) }
        queue.append("bob 1", room: 1, reader: ObjectIdentifier(bob))
        queue.append("server 1", room: 1, reader: nil)
        for number in 1...2 { queue.append("other room \(number)", room: 2, reader: nil) }
        var order: [String] = []
        while let read = queue.next() { order.append(read) }
        #expect(
            order == ["ann 1", "other room 1", "bob 1", "other room 2", "server 1", "ann 2", "ann 3"])
        #expect(queue.isEmpty)
    }

    /// What is put back after each slice is what a read that takes long does.
    @Test func `whoever reads much makes others wait for one slice in each round`() {
        var queue = ReadQueue<Int>()
        let greedy = (0..<50).map { _ in HistoryReader() }
        for reader in greedy {
            for _ in 0..<20 { queue.append(0, room: 1, reader: ObjectIdentifier(reader)) }
        }
        let (ann, bob) = (HistoryReader(), HistoryReader())
        queue.append(1, room: 1, reader: ObjectIdentifier(ann))
        queue.append(2, room: 2, reader: ObjectIdentifier(bob))
        var slices = 0
        var met: [Int: Int] = [:]
        while met.count < 2, let read = queue.next() {
            slices += 1
            guard read == 0 else {
                met[read] = slices
                continue
            }
            queue.append(0, room: 1, reader: ObjectIdentifier(greedy[slices % 50]))
        }
        #expect(met[2] ?? .max <= 2, "another room")
        #expect(met[1] ?? .max <= 2 * 51, "another session of the room")
    }

    @Test func `a session, a room and a shard have a bound each, and sessions take no place from others`() throws {
        var counts = ReadCounts()
        var configuration = StorageConfiguration { noon }
        configuration.waitingReadsOfReaderMax = 2
        configuration.waitingReadsOfRoomMax = 3
        configuration.waitingReadsMax = 5
        let readers = (0..<6).map { _ in HistoryReader() }
        func begin(_ room: UInt64, _ reader: HistoryReader?) -> StorageError.Code? {
            counts.begin(room: room, reader: reader, othersMax: 1, configuration)?.code
        }
        #expect(begin(1, readers[0]) == nil)
        #expect(begin(1, readers[0]) == nil)
        #expect(begin(1, readers[0]) == .tooOften)
        #expect(begin(1, readers[1]) == nil)
        #expect(begin(1, readers[2]) == .overloaded, "the room")
        #expect(begin(2, readers[3]) == nil)
        #expect(begin(2, readers[4]) == nil)
        #expect(begin(3, readers[5]) == .overloaded, "the shard")
        #expect(begin(1, nil) == nil)
        #expect(begin(1, nil) == .overloaded)
        counts.end(room: 1, reader: readers[0])
        #expect(begin(1, readers[0]) == nil)
        for (room, reader) in [(1, 0), (1, 0), (1, 1), (2, 3), (2, 4)] as [(UInt64, Int)] {
            counts.end(room: room, reader: readers[reader])
        }
        counts.end(room: 1, reader: nil)
        #expect(counts.isEmpty)
        #expect(readers.allSatisfy { $0.readCount == 0 })
    }
}
