import ChatModel
import Consensus
import Replication
import Wire

@testable import History

/// Bytes from another replica that bring this one up to date: dialogues with the two receivers, and the streams.
extension FuzzTarget {
    /// A list of events: a byte that tells which, two bytes with a length, so many bytes.
    static let snapshot = FuzzTarget(name: "snapshot", bytesMax: 256 << 10) { bytes in
        var input = FuzzInput(bytes)
        let group = GroupID(3)
        var sink = SnapshotSink(group: group, transfer: 1, index: 9, configuration: TransferConfiguration())
        var backfill = BackfillSink(
            group: group, transfer: 1, snapshotIndex: 9, knownIndex: 2, days: nil,
            configuration: TransferConfiguration())
        var stream = SnapshotStream(index: 9)
        var records = DelimitedReader<HistoryRecord>()
        var (isStreamOver, areRecordsOver) = (false, false)
        var (installs, stored) = (0, 0)
        _ = sink.start()
        _ = backfill.start()
        func note(_ effects: [SnapshotSink.Effect]) {
            for effect in effects {
                switch effect {
                case .store(let bytes): stored += bytes.count
                case .install, .fail: installs += 1
                case .send(let message): check(message)
                case .begin: break
                }
            }
            require(installs <= 1, "a snapshot has ended twice")
        }
        func note(_ effects: [BackfillSink.Effect]) {
            for effect in effects { if case .send(let message) = effect { check(message) } }
        }
        while !input.rest.isEmpty {
            let event = input.byte()
            let content = input.take(Int(input.byte()) << 8 | Int(input.byte()))
            let wasOver = (sink.isOver, backfill.isOver)
            var (ofSink, ofBackfill): ([SnapshotSink.Effect], [BackfillSink.Effect]) = ([], [])
            switch event % 8 {
            case 0, 1, 2:
                guard var message = try? ReplicationMessage(decoding: content) else { continue }
                (message.group, message.transfer) = (group, 1)
                ofSink = sink.receive(message)
                ofBackfill = backfill.receive(message)
            case 3:
                ofSink = sink.stored()
                if let day = content.first {
                    ofBackfill = backfill.stored(
                        day: Int64(Int8(bitPattern: day)), next: content.count > 1 ? [content[1]] : nil)
                }
            case 4:
                ofSink = sink.tick()
                ofBackfill = backfill.tick()
            case 5: ofBackfill = backfill.planned(content.prefix(40).map { (Int64(Int8(bitPattern: $0)), []) })
            case 6:
                guard !isStreamOver else { continue }
                do throws(StorageError) {
                    for row in try stream.append(content) { check(row) }
                } catch { isStreamOver = true }
            default:
                guard !areRecordsOver else { continue }
                do throws(StorageError) {
                    for record in try records.append(content) { check(record) }
                } catch { areRecordsOver = true }
            }
            require(!wasOver.0 || ofSink.isEmpty, "a receiver that is over says \(ofSink)")
            require(!wasOver.1 || ofBackfill.isEmpty, "a receiver that is over says \(ofBackfill)")
            require(installs == 0 || ofSink.isEmpty, "after the end of a snapshot comes \(ofSink)")
            note(ofSink)
            note(ofBackfill)
        }
        require(stored <= bytes.count, "\(bytes.count) bytes became \(stored) to store")
    } seeds: { samples in
        func event(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
            [number, UInt8(truncatingIfNeeded: content.count >> 8), UInt8(truncatingIfNeeded: content.count)] + content
        }
        func said(_ body: ReplicationMessage.Body) -> [UInt8] {
            event(0, ReplicationMessage(group: GroupID(3), transfer: 1, body).encoded)
        }
        let mark = SnapshotMark(
            index: 9, term: 3, membership: GroupMembership(voters: [ServerID(node: "a", store: 1)]))
        let chunk: [UInt8] = [1, 2, 3]
        var whole = said(.beginSnapshot(mark)) + event(3, []) + said(.snapshotChunk(number: 0, chunk)) + event(3, [])
        whole += said(.endSnapshot(chunks: 1, checksum: TransferChecksum(of: chunk).value))
        let part = HistoryPart(
            answering: HistoryQuestion(day: 5, cursor: [], changedAfter: 2, index: 9), chunk: chunk, next: nil)
        var days = said(.days([HistoryDay(day: 5, lastIndex: 4)])) + event(5, [5]) + said(.history(part))
        days += event(3, [5]) + said(.abort(ReplicationError(.busy, "why")))
        var seeds = [whole, days, event(4, []) + event(4, [])]
        // Streams: head, rows, end; and rows of history.
        var stream: [UInt8] = []
        var rows: UInt64 = 0
        WireProtobuf.appendDelimited(SnapshotRecord(index: 9), to: &stream)
        for (kind, value) in samples.catalogueValues() {
            rows += 1
            let row = CatalogueRow(
                room: samples.room(), incarnation: Incarnation(3), kind: UInt8(clamping: kind.rawValue), key: "k",
                value: CatalogueCodec.encode(value), index: 7)
            WireProtobuf.appendDelimited(SnapshotRecord(row: row), to: &stream)
            var one: [UInt8] = []
            WireProtobuf.appendDelimited(SnapshotRecord(index: 9), to: &one)
            WireProtobuf.appendDelimited(SnapshotRecord(row: row), to: &one)
            WireProtobuf.appendDelimited(SnapshotRecord(rowCount: 1), to: &one)
            seeds.append(event(6, one))
        }
        WireProtobuf.appendDelimited(SnapshotRecord(rowCount: rows), to: &stream)
        seeds.append(event(6, Array(stream.prefix(99))) + event(6, Array(stream.dropFirst(99))))
        let message = samples.message()
        var record: [UInt8] = []
        let row = HistoryRow(
            incarnation: Incarnation(3), seq: 4, index: 5, time: Timestamp(6), type: 1, sender: "u",
            command: CommandKey(high: 1, low: 2), payload: HistoryCodec.encode(message))
        WireProtobuf.appendDelimited(HistoryRecord(row: row), to: &record)
        let erasure = Erasure(incarnation: Incarnation(3), seq: 4, day: 0, index: 5)
        WireProtobuf.appendDelimited(HistoryRecord(erasure: erasure), to: &record)
        seeds.append(event(7, record))
        return seeds
    }

    private static func check(_ message: ReplicationMessage) {
        require((try? ReplicationMessage(decoding: message.encoded)) == message, "\(message) can't be read")
    }

    /// The content of a row is written as it was read.
    private static func check(_ row: CatalogueRow) {
        let bytes = WireProtobuf.encode(SnapshotRecord(row: row))
        let again = (try? WireProtobuf.decode(SnapshotRecord.self, from: bytes, limits: true))?.row
        require(again.map { WireProtobuf.encode(SnapshotRecord(row: $0)) } == bytes, "a row becomes another")
        if row.kind == CommandRows.kind { _ = try? CommandRows.commands(in: [row], of: row.incarnation) }
    }

    private static func check(_ record: HistoryRecord) {
        let bytes = WireProtobuf.encode(record)
        let again = try? WireProtobuf.decode(HistoryRecord.self, from: bytes, limits: true)
        require(again.map { WireProtobuf.encode($0) } == bytes, "a row of history becomes another")
    }
}
