import ChatModel
import RoomProtocol

@testable import History
@testable import Wire

/// Content that the disk gives back: rows of the catalogue and of history, log entries, the system group's state.
extension FuzzTarget {
    /// The first byte tells what it is.
    static let stored = FuzzTarget(name: "stored", bytesMax: 1 << 20) { bytes in
        var input = FuzzInput(bytes)
        let kind = Int(input.byte()) % (readers.count + CatalogueKind.allCases.count)
        let content = input.all
        if kind < readers.count {
            readers[kind](content)
        } else {
            let kind = CatalogueKind.allCases[kind - readers.count]
            _ = try? CatalogueCodec.decode(kind: kind, content, .allFields)
            same(content, "\(kind) row") {
                try CatalogueCodec.decode(kind: kind, $0)
            } write: {
                CatalogueCodec.encode($0)
            }
        }
    } seeds: { samples in
        var seeds = samples.bodies().map { [0] + LogCodec.encode(samples.command($0), time: samples.time()) }
        for _ in 0..<12 {
            let message = samples.message()
            seeds.append([1] + HistoryCodec.encode(message))
            seeds.append([2] + HistoryCodec.encode(message) + WireProtobuf.encode(KeptCopies(copies: [message])))
        }
        for question in samples.questions() {
            guard case .propose(let command, _) = question else { continue }
            seeds.append([3] + SystemCodec.encode(SystemEntry(time: Timestamp(1), key: "k", command: command)))
        }
        for (kind, value) in samples.catalogueValues() {
            guard let place = CatalogueKind.allCases.firstIndex(of: kind) else { continue }
            seeds.append([UInt8(readers.count + place)] + CatalogueCodec.encode(value))
        }
        let cursor = HistoryCursor(.messages, Incarnation(3), seq: 9)
        seeds.append([5] + cursor.encoded)
        let missing = MissingHistory(
            snapshotIndex: 9, knownIndex: 3, days: [MissingHistory.Day(day: 5, cursor: cursor)])
        seeds.append([6] + missing.encoded)
        return seeds
    }

    private static let readers: [@Sendable ([UInt8]) -> Void] = [
        { bytes in
            same(bytes, "log entry") {
                try LogCodec.decode($0)
            } write: {
                LogCodec.encode($0.0, time: $0.1)
            }
        },
        { bytes in
            same(bytes, "message") {
                try HistoryCodec.decode($0)
            } write: {
                HistoryCodec.encode($0)
            }
        },
        { bytes in
            guard let copies = try? HistoryCodec.decodeCopies(bytes) else { return }
            require(copies.count <= bytes.count / 2, "\(bytes.count) bytes became \(copies.count) copies")
            let once = WireProtobuf.encode(KeptCopies(copies: copies))
            guard let again = try? HistoryCodec.decodeCopies(once) else { fail("copies can't be read again") }
            require(WireProtobuf.encode(KeptCopies(copies: again)) == once, "copies become others")
        },
        { bytes in
            same(bytes, "system log entry") {
                try SystemCodec.decode($0)
            } write: {
                SystemCodec.encode($0)
            }
        },
        { bytes in
            same(bytes, "system state") {
                try SystemCodec.decodeSnapshot($0, own: .newest)
            } write: {
                SystemCodec.encode($0)
            }
        },
        { bytes in
            same(bytes, "place in history") {
                try HistoryCursor(decoding: $0)
            } write: {
                $0.encoded
            }
        },
        { bytes in
            same(bytes, "missing history") {
                try MissingHistory(decoding: $0)
            } write: {
                $0.encoded
            }
        },
    ]

    /// A value that has been read is written in one way, and is read from that again. The output is not much longer
    /// than the input.
    private static func same<Value>(
        _ bytes: [UInt8], _ what: String, read: ([UInt8]) throws -> Value, write: (Value) -> [UInt8]
    ) {
        guard let value = try? read(bytes) else { return }
        let once = write(value)
        require(once.count <= 16 * bytes.count + 512, "\(bytes.count) bytes of a \(what) became \(once.count)")
        guard let again = try? read(once) else { fail("a \(what) that was written can't be read: \(value)") }
        let twice = write(again)
        require(once == twice, "a \(what) changes each time: \(value) becomes \(again)")
    }
}
