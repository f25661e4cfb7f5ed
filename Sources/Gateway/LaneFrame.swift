import ChatModel
import RoomLink
import SessionCore
import Transport

/// A frame on one lane: made once per lane, shared by all of its viewers there.
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

    /// Something that a room shows to its viewers.
    init(_ frame: SharedFrame, of room: RoomID) {
        bytes = SharedBytes(copying: frame.json)
        traffic =
            switch frame.traffic {
            case .messages: .messages
            case .barrage: .barrage
            case .status: .status
            }
        self.room = room
        keptSeqs = frame.keptSeqs
        unkeptCount = frame.unkept
        barrageCount = frame.barrage
    }
}
