import ChatModel
import Wire

/// One thing that a room tells a lane. A lane performs them in order, so that per room and lane acks, enter results
/// and messages are one ordered stream (contract, "Order").
public enum RoomOutput: Sendable {
    /// `isRepeat`: a `clientId` again, which costs no rate.
    case reply(SessionID, request: UInt32, Result<OperationResult, ChatError>, isRepeat: Bool = false)
    /// The answer to an enter. On success the session sees what follows this, and the reply's seq is the stream's here.
    case entered(SessionID, request: UInt32?, Result<EnterResult, ChatError>)
    /// The session has left: it sees nothing that follows.
    case exited(SessionID, request: UInt32?)
    /// The session is put out, for a reason that it is told.
    case kicked(SessionID, KickReason, ext: String?)
    /// For all viewers of the room.
    case frame(SharedFrame)
    /// For some of them: directed messages, barrage echoes.
    case frameFor([SessionID], SharedFrame)
    /// For all but some: they get their own version by `frameFor`.
    case frameExcept([SessionID], SharedFrame)
}

/// Everything that one room emitted in one turn for one lane.
public struct Publication: Sendable {
    public var room: RoomID
    /// Dense per room and leader's term, so that a receiver finds gaps also in what has no seq.
    public var number: UInt64
    public var outputs: [RoomOutput]

    public init(room: RoomID, number: UInt64, outputs: [RoomOutput]) {
        self.room = room
        self.number = number
        self.outputs = outputs
    }
}

/// Takes publications to the lanes of gateways. Implemented by the gateway, given to room hosts.
public protocol PublicationSink: Sendable {
    /// Hands over everything that one turn of a room loop has for one lane, in order.
    func deliver(_ publications: [Publication], to lane: Int, of node: NodeID)
}
