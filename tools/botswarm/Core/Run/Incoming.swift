import ChatModel
import Wire

/// One thing that came, reduced to what the swarm looks at.
package enum Incoming: Sendable, Equatable {
    case reply(UInt32, Result<OperationResult, ChatError>)
    case kept(RoomID, KeptSighting)
    case unkept(RoomID, UnkeptSighting)
    case barrage(RoomID, [BarrageSighting])
    case gap(RoomID, [ClosedRange<UInt64>], GapReason)
    case skipped(RoomID, unkept: Int64, barrage: Int64)
    case kicked(RoomID, KickReason)
    case state(RoomID, RoomStatus)
    case token
    case reconnect(minMilliseconds: Int64, maxMilliseconds: Int64)
    /// Nothing that concerns the books.
    case other
    /// Input that the protocol does not allow.
    case malformed(String)
}
