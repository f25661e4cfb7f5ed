import ChatModel
import RoomProtocol
import Wire

extension Session {
    /// An act of the session's holder that an input causes.
    public enum Effect: Sendable, Hashable {
        /// Tells the leader of a room.
        case notify(RoomID, RoomNews)
        /// Counts the session as one that is in the room.
        case joined(RoomID)
        /// Counts it no longer, and ends the view of its connection.
        case parted(RoomID)
        /// The session has the room's stream up to this seq.
        case heard(RoomID, through: UInt64)
        /// Answers the client's enter and shows it what follows in the room's stream.
        case view(Entry)
        /// Has the room's leader told that the session is in it, which the leader does not know.
        case announce(RoomID)
        case reply(UInt32, Result<OperationResult, ChatError>)
        case push(Push)
        /// Closes the connection.
        case close(CloseCode, String)
        /// Calls ``Session/onLastMoment(at:)`` then: the tick may come late.
        case wake(afterMilliseconds: UInt64)
    }

    /// News of a session that a room needs and does not answer.
    public enum RoomNews: Sendable, Hashable {
        /// It has ended, or must not be in the room.
        case left
        /// Its connection has ended, and its grace runs.
        case away
        /// It is on this lane from now on, and maybe was on another node.
        case moved(from: NodeID?)
    }

    /// An enter that has its answer.
    public struct Entry: Sendable, Hashable {
        public var room: RoomID
        /// The client's request ID.
        public var request: UInt32
        public var result: EnterResult
        /// The result's `missed` is what the lane was told of this seq; nil: it is whole.
        public var missedAfter: UInt64?
    }
}
