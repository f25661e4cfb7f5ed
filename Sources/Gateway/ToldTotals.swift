import ChatModel
import HTTPWebSocket
import RoomProtocol
import Wire

/// The totals of tallies that a room has told the viewers of one lane: those who were too slow for some of them are told
/// all again when they keep up. A frame says only what has changed, so the newest does not stand for the others.
struct ToldTotals {
    private struct Told {
        var total: Int64
        var number: UInt64
    }

    private let room: RoomID
    private var totals: [String: Told] = [:]
    private var count: UInt64 = 0
    /// Beyond it the tally goes that was told of longest ago: as many as a room can have, and as many that went.
    static let keysMax = 2 * Limits.tallies

    init(of room: RoomID) { self.room = room }

    /// Takes a frame of totals, in whichever encoding it is.
    /// - Returns: whether viewers are to be given it. A restatement, which begins with a push without totals, is for this
    ///   table alone: viewers know of it all.
    mutating func note(_ frame: SharedFrame) -> Bool {
        var pushes: [TalliesPush] = []
        func take(_ item: ServerItem) { if case .push(.tallies(let push)) = item { pushes.append(push) } }
        // A leader's own words: what can't be read of them no client could read.
        if let json = frame.json {
            Self.withPayload(json) { try? ServerFrame.items(inJSON: $0, take) }
        } else if let protobuf = frame.protobuf {
            Self.withPayload(protobuf) { try? ServerFrame.items(inProtobuf: $0, take) }
        }
        for push in pushes {
            // Those that do not follow have gone, and nobody is told of them again.
            if push.totals.isEmpty { totals = [:] }
            note(push.totals)
        }
        return !pushes.contains(where: \.totals.isEmpty)
    }

    private mutating func note(_ counts: [TallyCount]) {
        for told in counts {
            count += 1
            totals[told.key] = Told(total: told.count, number: count)
            guard totals.count > Self.keysMax else { continue }
            if let oldest = totals.min(by: { $0.value.number < $1.value.number }) { totals[oldest.key] = nil }
        }
    }

    private static func withPayload(_ frame: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
        frame.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[WebSocketFrameEncoder.headerCount(of: frame)...]))
        }
    }

    /// All of them, in the order of their keys; nil where there are none.
    var push: TalliesPush? {
        guard !totals.isEmpty else { return nil }
        return TalliesPush(
            room: room,
            totals: totals.sorted { $0.key < $1.key }.map { TallyCount(key: $0.key, count: $0.value.total) })
    }
}
