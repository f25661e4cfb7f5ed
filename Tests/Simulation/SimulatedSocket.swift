import ChatModel
import RoomCore
import RoomLink
import SessionCore
import Wire

/// What a gateway writes to one client at once.
struct SimulatedFrame: QueuedFrame {
    var items: [ServerItem]
    var byteCount: Int
    var traffic = FrameTraffic.reply
    var room: RoomID?
    var keptSeqs: ClosedRange<UInt64>?
    var unkeptCount = 0
    var barrageCount = 0

    /// An answer or a push to one session. Its size is guessed: nothing is encoded.
    init(_ item: ServerItem) {
        items = [item]
        byteCount = 200
    }

    /// What a room shows, read back from its bytes; nil when they cannot be read.
    init?(_ shared: SharedFrame, of room: RoomID) {
        guard let bytes = shared.json else { return nil }
        var items: [ServerItem] = []
        var decoder = WebSocketFrameDecoder(role: .client)
        var framesMax = Int.max
        var isRead = true
        _ = bytes.withUnsafeBytes { raw in
            decoder.decode(raw, framesMax: &framesMax) { event in
                guard case .text(let text) = event else { return isRead = false }
                do {
                    try ServerFrame.items(inJSON: text) { items.append($0) }
                } catch {
                    isRead = false
                }
            }
        }
        guard isRead, !items.isEmpty else { return nil }
        self.items = items
        byteCount = bytes.count
        self.room = room
        switch shared.traffic {
        case .messages: traffic = .messages
        case .barrage(let priority): traffic = .barrage(priority)
        case .status: traffic = .status
        }
        keptSeqs = shared.keptSeqs
        unkeptCount = shared.unkept
        barrageCount = shared.barrage
    }
}

/// One client's connection: what its gateway and its client each know of it.
final class SimulatedSocket {
    let number: Int
    let client: Int
    /// As the client's core counts them.
    let clientNumber: UInt64
    let node: Int
    let lane: Int
    /// The life of the node that it belongs to.
    let run: Int
    var isOpenAtClient = false
    var isOpenAtServer = false
    /// Nothing passes any more, and nobody is told.
    var isCut = false
    // The gateway's half.
    var session: SimulatedSession?
    var queue = SendQueue<SimulatedFrame>()
    var views: Set<RoomID> = []
    var heartbeat = Heartbeat(intervalMilliseconds: 1, nowMilliseconds: 0)
    /// Until when the system takes nothing more.
    var isWritingUntil = Duration.zero
    var isDirty = false
    // The network.
    var lastToClient = Duration.zero
    var lastToServer = Duration.zero
    /// By room: the seq up to which what was sent to the client since its enter is known.
    var shown: [RoomID: UInt64] = [:]

    init(number: Int, client: Int, clientNumber: UInt64, node: Int, lane: Int, run: Int) {
        self.number = number
        self.client = client
        self.clientNumber = clientNumber
        self.node = node
        self.lane = lane
        self.run = run
    }
}

/// One client's session at a gateway, as `Gateway.Session` has it.
final class SimulatedSession {
    let id: SessionID
    let user: UserID
    /// As leaders sum it up.
    let hash: UInt64
    var socket: SimulatedSocket?
    var rooms: [RoomID] = []
    var stays: [RoomID: Stay] = [:]
    var entering: Set<RoomID> = []
    var requests = SessionRequests()
    var losses = Losses()
    var changes: TokenBucket
    var awaySince: UInt64?

    init(id: SessionID, user: UserID, nowMilliseconds: UInt64) {
        self.id = id
        self.user = user
        hash = SampleHash.sender(id)
        changes = TokenBucket(ratePerSecond: 10, burst: 5, nowMilliseconds: nowMilliseconds)
    }

    var caller: Caller { Caller(user: user, anonymous: false) }
}
