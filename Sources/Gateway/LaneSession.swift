import ChatModel
import RoomCore
import SessionCore
import Wire

/// A session on the lane of its connection, or of its last one during the grace.
final class LaneSession {
    var state: Session
    /// nil while the client is away.
    var connection: ClientConnection?
    /// The user's mute in all rooms, which may have ended.
    var mute: UserSanction?
    /// The user's sessions as the client was told last.
    var toldDevices: [ConnectedDevice] = []
    /// The hash by which its barrage is sampled.
    let hash: UInt64

    var id: SessionID { state.id }

    init(_ state: Session) {
        self.state = state
        hash = SampleHash.sender(state.id)
    }
}
