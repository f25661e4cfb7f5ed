import ChatModel
import RoomLink
import SessionCore

/// What of a session moves with it from lane to lane when its client comes back on another connection.
struct SessionState: Sendable {
    let id: SessionID
    var caller: Caller
    /// Of its connection, or of its last one.
    var encoding: ClientEncoding
    /// nil for an anonymous one.
    var expiresAt: Timestamp?
    var warnedOfExpiry = false
    /// The rooms it is in; at most `roomsPerSessionMax`.
    var rooms: [RoomID] = []
    var losses = Losses()
}

/// One client's stay on the cluster, on the lane of its connection, or of its last one during the grace.
final class Session {
    var state: SessionState
    /// nil while the client is away.
    var connection: ClientConnection?
    /// Loop time when the connection went; nil while there is one.
    var awaySinceMilliseconds: UInt64?
    /// Rooms asked for and not yet answered: they count towards the limit.
    var entering: [RoomID] = []
    var changes: TokenBucket
    var reads: TokenBucket

    var id: SessionID { state.id }

    init(state: SessionState, configuration: GatewayConfiguration, nowMilliseconds: UInt64) {
        self.state = state
        changes = TokenBucket(
            ratePerSecond: configuration.changesPerSecond, burst: configuration.changesBurst,
            nowMilliseconds: nowMilliseconds)
        reads = TokenBucket(
            ratePerSecond: configuration.readsPerSecond, burst: configuration.readsBurst,
            nowMilliseconds: nowMilliseconds)
    }

    func isIn(_ room: RoomID) -> Bool { state.rooms.contains(room) }
}
