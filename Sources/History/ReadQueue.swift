import ChatModel

/// The reads of a shard that wait for their next slice, fairly: the rooms take turns, in a room its readers do, and of one
/// reader the reads. So whoever asks for much, or for what takes long, makes others wait for one slice of his in each
/// round, not for all of them.
///
/// It is not bounded itself: `ReadCounts` is, before a read gets here.
struct ReadQueue<Read: Sendable>: Sendable {
    /// Reads of nobody's in particular have a line together: nil.
    typealias ReaderID = ObjectIdentifier?

    private struct Room: Sendable {
        var lines: [ReaderID: Fifo<Read>] = [:]
        /// Readers in the order of their turns; each reader with a line once.
        var turns = Fifo<ReaderID>()
    }

    private var rooms: [UInt64: Room] = [:]
    /// Rooms in the order of their turns; each room with a line once.
    private var turns = Fifo<UInt64>()

    var isEmpty: Bool { rooms.isEmpty }

    /// - Parameter room: by its incarnation; 0 for what concerns the whole shard.
    mutating func append(_ read: Read, room: UInt64, reader: ReaderID) {
        if rooms[room] == nil { turns.append(room) }
        if rooms[room]?.lines[reader] == nil { rooms[room, default: Room()].turns.append(reader) }
        rooms[room]?.lines[reader, default: Fifo()].append(read)
    }

    /// Takes the read whose turn it is; nil when none waits. One that is not done after its slice is to be appended again.
    mutating func next() -> Read? {
        guard let room = turns.first else { return nil }
        turns.removeFirst()
        guard let reader = rooms[room]?.turns.first, let read = rooms[room]?.lines[reader]?.first else { return nil }
        rooms[room]?.turns.removeFirst()
        rooms[room]?.lines[reader]?.removeFirst()
        if rooms[room]?.lines[reader]?.first == nil {
            rooms[room]?.lines[reader] = nil
        } else {
            rooms[room]?.turns.append(reader)
        }
        if rooms[room]?.lines.isEmpty == true {
            rooms[room] = nil
        } else {
            turns.append(room)
        }
        return read
    }
}

/// How many reads of a shard wait, and who may add one.
struct ReadCounts: Sendable {
    /// Reads for nobody in particular: loads of rooms, the server API, the webhook, other replicas.
    private(set) var others = 0
    private(set) var ofSessions = 0
    private var ofRooms: [UInt64: Int] = [:]

    var isEmpty: Bool { others <= 0 && ofSessions <= 0 }

    /// Counts one; nil, or why there is no place for it. Sessions take no place from others.
    mutating func begin(
        room: UInt64, reader: HistoryReader?, othersMax: Int, _ configuration: StorageConfiguration
    ) -> StorageError? {
        guard let reader else {
            guard others < othersMax else { return StorageError(.overloaded, "\(others) reads wait") }
            others += 1
            return nil
        }
        guard reader.readCount < configuration.waitingReadsOfReaderMax else {
            return StorageError(.tooOften, "\(reader.readCount) reads of this session wait")
        }
        let ofRoom = ofRooms[room] ?? 0
        guard ofRoom < configuration.waitingReadsOfRoomMax else {
            return StorageError(.overloaded, "\(ofRoom) reads of this room wait")
        }
        guard ofSessions < configuration.waitingReadsMax else {
            return StorageError(.overloaded, "\(ofSessions) reads wait")
        }
        reader.begin()
        ofSessions += 1
        ofRooms[room] = ofRoom + 1
        return nil
    }

    mutating func end(room: UInt64, reader: HistoryReader?) {
        guard let reader else {
            others -= 1
            return
        }
        reader.end()
        ofSessions -= 1
        let left = (ofRooms[room] ?? 1) - 1
        ofRooms[room] = left > 0 ? left : nil
    }
}

/// A read between two slices.
struct WaitingRead: Sendable {
    let reader: HistoryReader?
    let slice: @Sendable (StorageWorker) -> Void
    let cancel: @Sendable () -> Void
}

/// The reads of a shard that wait, and whether its reader thread has a job for them.
struct ReadLines: Sendable {
    var queue = ReadQueue<WaitingRead>()
    var isServed = false
}
