import ChatModel
import HTTPWebSocket
import RoomProtocol
import SessionCore
import Transport
import Wire

/// A frame on one lane: made once per lane and encoding, shared by all of its viewers there.
final class LaneFrame: QueuedFrame {
    let bytes: SharedBytes
    let traffic: FrameTraffic
    let room: RoomID?
    let keptSeqs: ClosedRange<UInt64>?
    let unkeptCount: Int
    /// For how many barrage items it stands.
    let barrageCount: Int
    /// How many of these are in it; the others it only says that viewers were spared.
    let shownBarrageCount: Int
    /// When the oldest message in it was stamped, if there is one.
    let oldestTime: Timestamp?
    /// Where it is counted for as long as anybody holds it; nil for what a single connection is counted for.
    private let buffers: LaneBuffers?

    var byteCount: Int { bytes.count }
    var messageCount: Int { (keptSeqs?.count ?? 0) + unkeptCount }

    /// Something for one session alone.
    init(reply bytes: SharedBytes) {
        self.bytes = bytes
        traffic = .reply
        room = nil
        keptSeqs = nil
        unkeptCount = 0
        (barrageCount, shownBarrageCount) = (0, 0)
        oldestTime = nil
        buffers = nil
    }

    /// Brings viewers into step with a room's compressed stream: lines that they have had, or lost and been told.
    init(primer: [UInt8], of room: RoomID, countedIn buffers: LaneBuffers) {
        bytes = SharedBytes(copying: primer)
        traffic = .messages
        self.room = room
        keptSeqs = nil
        unkeptCount = 0
        (barrageCount, shownBarrageCount) = (0, 0)
        oldestTime = nil
        self.buffers = buffers
        buffers.sharedBytes += bytes.count
    }

    deinit { buffers?.sharedBytes -= bytes.count }

    /// One item, for one session or for all that understand `encoding`; never dropped.
    convenience init(_ item: ServerItem, in encoding: ClientEncoding) {
        var bytes: [UInt8] = []
        switch encoding {
        case .json: item.appendJSON(to: &bytes)
        case .protobuf: item.appendProtobuf(to: &bytes)
        }
        self.init(reply: bytes, in: encoding)
    }

    /// The answer to an enter, with what was missed as it is encoded already.
    convenience init(_ result: EnterResult, to request: UInt32, missed: [UInt8], in encoding: ClientEncoding) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(missed.count + 1024)
        result.appendReply(id: request, missed: missed, in: encoding, to: &bytes)
        self.init(reply: bytes, in: encoding)
    }

    private convenience init(reply bytes: [UInt8], in encoding: ClientEncoding) {
        let opcode: WebSocketOpcode = encoding == .json ? .text : .binary
        self.init(reply: SharedBytes(copying: WebSocketFrameEncoder.frame(opcode, bytes)))
    }

    /// Something that a room (nil: the cluster) shows to its viewers; nil when the room did not know of anybody who understands `encoding`.
    /// - Parameters:
    ///   - buffers: of the lane, where it is counted once, however many viewers have to wait for it.
    ///   - compression: of those who have negotiated it.
    ///   - written: its bytes, where they are made already.
    init?(
        _ frame: SharedFrame, in encoding: ClientEncoding, of room: RoomID?, countedIn buffers: LaneBuffers,
        isDroppable: Bool = true, compression: LaneCompression? = nil, written: [UInt8]? = nil
    ) {
        let encoded =
            switch encoding {
            case .json: frame.json
            case .protobuf: frame.protobuf
            }
        guard let encoded else { return nil }
        bytes = SharedBytes(copying: written ?? compression?.compressed(encoded) ?? encoded)
        traffic =
            switch frame.traffic {
            case .messages: isDroppable ? .messages : .reply
            case .barrage(let priority): .barrage(priority)
            case .status: .status
            case .totals: .totals
            }
        self.room = room
        keptSeqs = frame.keptSeqs
        unkeptCount = frame.unkept
        (barrageCount, shownBarrageCount) = (frame.barrage, frame.barrage - frame.told)
        oldestTime = frame.oldestTime
        // Frames that can't be dropped are counted for those who hold them.
        let isShared = traffic != .reply
        self.buffers = isShared ? buffers : nil
        if isShared { buffers.sharedBytes += bytes.count }
    }
}

/// A shared frame's lane frames, made when the first viewer of an encoding is met.
struct LaneFrames {
    let shared: SharedFrame
    let room: RoomID
    private let buffers: LaneBuffers
    private var json: LaneFrame?
    private var protobuf: LaneFrame?

    init(_ shared: SharedFrame, of room: RoomID, countedIn buffers: LaneBuffers) {
        self.shared = shared
        self.room = room
        self.buffers = buffers
    }

    /// The frame for one encoding, or nil when the room has not encoded it.
    mutating func frame(in encoding: ClientEncoding) -> LaneFrame? {
        switch encoding {
        case .json:
            json = json ?? LaneFrame(shared, in: .json, of: room, countedIn: buffers)
            return json
        case .protobuf:
            protobuf = protobuf ?? LaneFrame(shared, in: .protobuf, of: room, countedIn: buffers)
            return protobuf
        }
    }

    /// The frame for one encoding, compressed by itself: each call makes it.
    func frame(in encoding: ClientEncoding, by compression: LaneCompression?) -> LaneFrame? {
        LaneFrame(shared, in: encoding, of: room, countedIn: buffers, compression: compression)
    }

    /// Gives the frame to one viewer.
    mutating func enqueue(to viewer: ClientConnection) {
        if let frame = frame(in: viewer.encoding) { viewer.enqueue(frame) } else { viewer.lose(shared, of: room) }
    }
}
