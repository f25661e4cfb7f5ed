import ChatModel
import RoomLink
import SessionCore
import Transport

/// A frame on one lane: made once per lane and encoding, shared by all of its viewers there.
final class LaneFrame: QueuedFrame {
    let bytes: SharedBytes
    let traffic: FrameTraffic
    let room: RoomID?
    let keptSeqs: ClosedRange<UInt64>?
    let unkeptCount: Int
    let barrageCount: Int

    var byteCount: Int { bytes.count }

    /// Something for one session alone.
    init(reply bytes: SharedBytes) {
        self.bytes = bytes
        traffic = .reply
        room = nil
        keptSeqs = nil
        unkeptCount = 0
        barrageCount = 0
    }

    /// Something that a room (nil: the cluster) shows to its viewers; nil when the room did not know of anybody who understands `encoding`.
    /// - Parameter compression: of those who have negotiated it.
    init?(
        _ frame: SharedFrame, in encoding: ClientEncoding, of room: RoomID?, isDroppable: Bool = true,
        compression: LaneCompression? = nil
    ) {
        let encoded =
            switch encoding {
            case .json: frame.json
            case .protobuf: frame.protobuf
            }
        guard let encoded else { return nil }
        bytes = SharedBytes(copying: compression?.compressed(encoded) ?? encoded)
        traffic =
            switch frame.traffic {
            case .messages: isDroppable ? .messages : .reply
            case .barrage(let priority): .barrage(priority)
            case .status: .status
            }
        self.room = room
        keptSeqs = frame.keptSeqs
        unkeptCount = frame.unkept
        barrageCount = frame.barrage
    }
}

/// A shared frame's lane frames, made when the first viewer of an encoding is met.
struct LaneFrames {
    let shared: SharedFrame
    let room: RoomID
    private var made: [ClientEncoding: LaneFrame] = [:]

    init(_ shared: SharedFrame, of room: RoomID) {
        self.shared = shared
        self.room = room
    }

    /// The frame for one encoding, or nil when the room has not encoded it.
    mutating func frame(in encoding: ClientEncoding) -> LaneFrame? {
        if let frame = made[encoding] { return frame }
        let frame = LaneFrame(shared, in: encoding, of: room)
        made[encoding] = frame
        return frame
    }

    /// Gives the frame to one viewer.
    mutating func enqueue(to viewer: ClientConnection) {
        if let frame = frame(in: viewer.encoding) { viewer.enqueue(frame) } else { viewer.lose(shared, of: room) }
    }
}
