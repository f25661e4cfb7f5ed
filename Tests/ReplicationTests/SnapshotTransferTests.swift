import ChatModel
import Consensus
import Replication
import StorageTestKit
import Testing

/// A source and a sink with a link between them that delays in order and, at a break, loses what is under way.
private struct Transfer {
    var source = SnapshotSource(group: group, configuration: TransferConfiguration())
    var sink: SnapshotSink
    let state: [UInt8]
    let node: NodeID
    var toSource: [ReplicationMessage] = []
    var toSink: [ReplicationMessage] = []
    var isBegun = false
    var stored: [UInt8] = []
    /// Effects of the sink that the host has not performed yet.
    var storing = 0
    /// The next byte that is read; nil: closed.
    var position: Int?
    var pendingRead: UInt64?
    var installed: SnapshotMark?
    var failure: ReplicationError?
    var chunksUnderWay = 0

    init(_ state: [UInt8], index: UInt64 = 5) throws {
        self.state = state
        node = try Names.node("b")
        sink = SnapshotSink(group: group, transfer: 1, index: index, configuration: TransferConfiguration())
        perform(sink.start())
    }

    mutating func perform(_ effects: [SnapshotSink.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let message): toSource.append(message)
            case .begin:
                #expect(!isBegun)
                isBegun = true
                storing += 1
            case .store(let bytes):
                #expect(isBegun && bytes.count <= TransferConfiguration.chunkBytesMax)
                stored += bytes
                storing += 1
                #expect(storing <= 5)
            case .install(let mark):
                #expect(storing == 0)
                installed = mark
            case .fail(let error): failure = error
            }
        }
    }

    mutating func perform(_ effects: [SnapshotSource.Effect]) throws {
        for effect in effects {
            switch effect {
            case .send(let message, let to):
                #expect(to == node)
                // As on the link.
                toSink.append(try ReplicationMessage(decoding: message.encoded))
            case .open(let number, let index):
                #expect(index == 5)
                position = 0
                try perform(source.opened(number: number, mark: mark(7)))
            case .read(let number, let bytesMax):
                #expect(pendingRead == nil && bytesMax == TransferConfiguration.chunkBytesMax)
                pendingRead = number
            case .close:
                position = nil
                pendingRead = nil
            }
        }
        chunksUnderWay = max(chunksUnderWay, toSink.count)
    }

    mutating func read() throws {
        guard let number = pendingRead, let from = position else { return }
        pendingRead = nil
        let end = min(state.count, from + TransferConfiguration.chunkBytesMax)
        position = end
        try perform(source.read(number: number, Array(state[from..<end])))
    }

    mutating func deliver() throws {
        if !toSource.isEmpty { try perform(source.receive(toSource.removeFirst(), from: node)) }
        if !toSink.isEmpty { perform(sink.receive(toSink.removeFirst())) }
    }

    mutating func store() {
        guard storing > 0 else { return }
        storing -= 1
        perform(sink.stored())
    }

    mutating func tick() throws {
        try perform(source.tick())
        perform(sink.tick())
    }
}

@Suite struct SnapshotTransferTests {
    @Test(arguments: SeededGenerator.seeds(8))
    func `whatever is lost with connections, the state arrives whole`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let chunk = TransferConfiguration.chunkBytesMax
        // At the bounds of a chunk, too.
        let size = try #require([0, 1, chunk - 1, chunk, 2 * chunk, 5 * chunk + 5].randomElement(using: &random))
        var transfer = try Transfer([UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: size))
        var steps = 0
        while transfer.installed == nil, transfer.failure == nil {
            steps += 1
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4: try transfer.deliver()
            case 5...6: try transfer.read()
            case 7...8: transfer.store()
            default: try transfer.tick()
            }
            if random.happens(1) { (transfer.toSink, transfer.toSource) = ([], []) }
            #expect(transfer.toSink.count <= 16)
            guard steps < 100_000 else { break }
        }
        #expect(transfer.installed == mark(7), "seed \(seed): \(String(describing: transfer.failure))")
        #expect(transfer.stored == transfer.state, "seed \(seed)")
        #expect(transfer.sink.isOver)
    }

    @Test func `no more chunks are under way than the bound, and the next one is asked for when one is stored`() throws
    {
        var transfer = try Transfer([UInt8](repeating: 1, count: 20 * TransferConfiguration.chunkBytesMax))
        for _ in 0..<100 {
            try transfer.deliver()
            try transfer.read()
        }
        // The host has stored nothing.
        #expect(transfer.stored.count == 4 * TransferConfiguration.chunkBytesMax)
        #expect(transfer.storing == 5)
        transfer.store()
        transfer.store()
        for _ in 0..<100 {
            try transfer.deliver()
            try transfer.read()
        }
        #expect(transfer.stored.count == 5 * TransferConfiguration.chunkBytesMax)
    }

    @Test func `a snapshot of a term that no election leads to is refused before anything is stored`() {
        let membership = GroupMembership(voters: [ServerID(node: "n1", store: 1)])
        for (term, isTaken) in [(RaftGroup.termMax, true), (RaftGroup.termMax + 1, false), (1 << 62, false)] {
            var sink = SnapshotSink(group: group, transfer: 1, index: 5, configuration: TransferConfiguration())
            _ = sink.start()
            let mark = SnapshotMark(index: 5, term: term, membership: membership)
            let effects = sink.receive(ReplicationMessage(group: group, transfer: 1, .beginSnapshot(mark)))
            #expect((effects == [.begin(mark)]) == isTaken)
            #expect(sink.isOver != isTaken)
        }
    }

    @Test func `a silent source is asked again, and given up in the end`() throws {
        var sink = SnapshotSink(group: group, transfer: 1, index: 5, configuration: TransferConfiguration())
        _ = sink.start()
        let configuration = TransferConfiguration()
        var questions = 0
        var failure: ReplicationError?
        for _ in 0..<(configuration.ticksUntilRepeat * (configuration.repetitionsMax + 1)) {
            #expect(failure == nil)
            for effect in sink.tick() {
                switch effect {
                case .send(let message):
                    if case .askSnapshot = message.body { questions += 1 }
                case .fail(let error): failure = error
                case .begin, .store, .install: Issue.record("\(effect)")
                }
            }
        }
        #expect(questions == configuration.repetitionsMax)
        #expect(failure?.code == .timedOut)
        #expect(sink.isOver)
        #expect(sink.tick().isEmpty)
    }

    @Test func `a source gives one snapshot at a time, closes it when nobody asks, and says so to who comes late`()
        throws
    {
        var source = SnapshotSource(group: group, configuration: TransferConfiguration())
        let (b, c) = (try Names.node("b"), try Names.node("c"))
        func ask(_ transfer: UInt64, next: UInt32 = 0) -> ReplicationMessage {
            ReplicationMessage(
                group: group, transfer: transfer, .askSnapshot(index: 5, next: next, end: 4, isRepeat: false))
        }
        #expect(source.receive(ask(1), from: b) == [.open(number: 1, index: 5)])
        let refused = source.receive(ask(9), from: c)
        guard case .send(let message, to: c)? = refused.first, case .abort(let error) = message.body else {
            Issue.record("\(refused)")
            return
        }
        #expect(error.code == .busy && message.transfer == 9 && refused.count == 1)
        // The same node begins anew while the first is being opened.
        #expect(source.receive(ask(2), from: b) == [.close(number: 1), .open(number: 2, index: 5)])
        #expect(source.opened(number: 1, mark: mark(5)).isEmpty)
        #expect(source.opened(number: 2, mark: mark(5)).count == 2)
        #expect(source.read(number: 1, [1]).isEmpty)
        let limit = TransferConfiguration().ticksUntilGone
        for tick in 1...limit { #expect(source.tick() == (tick == limit ? [.close(number: 2)] : [])) }
        #expect(!source.isBusy)
        let late = source.receive(ask(2, next: 3), from: b)
        guard case .send(let answer, to: b)? = late.first, case .abort(let lost) = answer.body else {
            Issue.record("\(late)")
            return
        }
        #expect(lost.code == .lost)
        #expect(source.receive(ask(3), from: c) == [.open(number: 3, index: 5)])
        #expect(
            source.failed(number: 3, ReplicationError(.source, "x")) == [
                .send(
                    ReplicationMessage(group: group, transfer: 3, .abort(ReplicationError(.source, "x"))), to: c),
                .close(number: 3),
            ])
    }

    @Test func `an older snapshot, bytes that are not the source's and a failure here end the transfer`() throws {
        func sink() -> SnapshotSink {
            SnapshotSink(group: group, transfer: 1, index: 5, configuration: TransferConfiguration())
        }
        func code(_ effects: [SnapshotSink.Effect]) -> ReplicationError.Code? {
            for case .fail(let error) in effects { return error.code }
            return nil
        }
        func message(_ body: ReplicationMessage.Body, transfer: UInt64 = 1) -> ReplicationMessage {
            ReplicationMessage(group: group, transfer: transfer, body)
        }
        var older = sink()
        #expect(code(older.receive(message(.beginSnapshot(mark(4))))) == .behind)
        var other = sink()
        #expect(other.receive(message(.beginSnapshot(mark(4)), transfer: 2)).isEmpty)
        #expect(other.receive(message(.snapshotChunk(number: 0, [1]))).isEmpty)
        #expect(other.receive(message(.beginSnapshot(mark(5)))) == [.begin(mark(5))])
        _ = other.stored()
        #expect(other.receive(message(.snapshotChunk(number: 1, [1]))).isEmpty)
        #expect(other.receive(message(.snapshotChunk(number: 0, [1]))) == [.store([1])])
        #expect(other.receive(message(.endSnapshot(chunks: 2, checksum: 0))).isEmpty)
        #expect(code(other.receive(message(.endSnapshot(chunks: 1, checksum: 0)))) == .malformed)
        #expect(other.receive(message(.beginSnapshot(mark(5)))).isEmpty)
        var empty = sink()
        _ = empty.receive(message(.beginSnapshot(mark(5))))
        #expect(code(empty.receive(message(.snapshotChunk(number: 0, [])))) == .malformed)
        var full = sink()
        #expect(code(full.storingFailed("no space")) == .receiver)
        #expect(full.storingFailed("no space").isEmpty)
        var aborted = sink()
        let error = ReplicationError(.busy, "x")
        #expect(aborted.receive(message(.abort(error))) == [.fail(error)])
    }
}
