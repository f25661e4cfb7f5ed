import ChatModel
import History
import RoomProtocol

/// The output of a shard's rooms in a turn, until its end: publications for the gateways, rows for storage.
final class ShardPublisher {
    private let storage: ShardStorage
    private let outbox: Outbox
    private var batch = StorageBatch(appliedIndex: 0)
    private var dirtyRooms: [RoomActor] = []
    /// Those whose barrage window is open.
    private var barrageRooms: [RoomActor] = []
    /// Called when there is something to publish with the end of the turn.
    var onWork: () -> Void = {}
    /// Those whose viewers have not been told of changed totals.
    private var totalsRooms: [RoomActor] = []

    init(storage: ShardStorage, outbox: Outbox) {
        self.storage = storage
        self.outbox = outbox
    }

    /// Whether the end of the turn has something to publish, or to hand to storage.
    var hasWork: Bool { !dirtyRooms.isEmpty || batch.appliedIndex > 0 }

    /// To be called when a room was asked for anything: it may have something to publish.
    func mark(_ room: RoomActor, _ dirt: RoomActor.NewDirt) {
        if dirt.isDirty {
            dirtyRooms.append(room)
            onWork()
        }
        if dirt.hasBarrage { barrageRooms.append(room) }
        if dirt.hasTotals { totalsRooms.append(room) }
    }

    /// Asks the room for something first.
    func mark(_ room: RoomActor, after call: (isolated RoomActor) -> Void) {
        room.onLoop(call)
        mark(room, room.onLoop { $0.takeDirt() })
    }

    /// Has a room add the rows of an applied command.
    func gather<Value>(_ add: (inout StorageBatch) -> Value) -> Value { add(&batch) }

    /// All rows up to that entry have been added.
    func applied(upTo index: UInt64) {
        batch.appliedIndex = index
        onWork()
    }

    /// Publishes what the rooms emitted and hands their rows to storage.
    /// - Parameters:
    ///   - end: until when enters are answered.
    ///   - isDone: called with each of these rooms, behind its turn.
    /// - Returns: whether some are left for the next turn.
    func publish(term: UInt64, untilNanoseconds end: UInt64, isDone: (RoomActor) -> Void) -> Bool {
        var unfinished: [RoomActor] = []
        for room in dirtyRooms {
            let result = room.onLoop { $0.takeTurn(term: term, untilNanoseconds: end) }
            for (node, publication) in result.publications { outbox.add(publication, to: node) }
            for (node, answer) in result.answers { outbox.add(answer, to: node) }
            if let row = result.roomRow { batch.catalogue.append(row) }
            if result.hasMore { unfinished.append(room) }
            isDone(room)
        }
        dirtyRooms.removeAll(keepingCapacity: true)
        dirtyRooms += unfinished
        if batch.appliedIndex > 0 {
            storage.write(batch)
            batch = StorageBatch(after: batch)
        }
        return !unfinished.isEmpty
    }

    /// Does not leave it to the loop to hand over what was published.
    func deliver() { outbox.deliver() }

    /// Ends the barrage windows that are open.
    func closeBarrageWindows() {
        guard !barrageRooms.isEmpty else { return }
        let due = barrageRooms
        barrageRooms.removeAll(keepingCapacity: true)
        for room in due {
            mark(room) { $0.closeBarrageWindow() }
        }
    }

    /// Tells viewers of changed totals, where that is not too early.
    func publishTotals() {
        guard !totalsRooms.isEmpty else { return }
        let rooms = totalsRooms
        totalsRooms = []
        for room in rooms {
            if room.onLoop({ $0.publishTotals() }) {
                totalsRooms.append(room)
            } else {
                mark(room, room.onLoop { $0.takeDirt() })
            }
        }
    }

    /// Rooms leave memory; what is to be seen of them was published before.
    func forgetRooms() {
        dirtyRooms = []
        barrageRooms = []
        totalsRooms = []
    }

    /// Storage was given a state that has all rows.
    func forgetRows() { batch = StorageBatch(appliedIndex: 0) }
}
