import ChatModel

/// The form in which a connection is given what a room shows to everybody (PROTOCOL.md, "Compression").
enum FrameForm: Hashable {
    /// As the room has made it.
    case plain
    /// Each frame is compressed by itself.
    case alone
    /// As the room has made it, until a primer has brought the connection into step with the room's compressed stream.
    case unprimed
    /// The room's compressed stream.
    case inStep
}

extension ClientConnection {
    /// The frames that its client can read.
    enum Compression: Hashable {
        case none
        /// Frames that are compressed by themselves.
        case alone
        /// The compressed stream of one room; it has one window, so what other rooms show comes as it is.
        case shared
    }

    /// A room whose compressed stream a connection reads.
    struct FollowedStream: Hashable {
        let room: RoomID
        /// Its client's window is the one of the stream.
        var isInStep = false
        /// It was, until frames were dropped, and is in the lane's list of those.
        var isBehind = false
    }

    func form(in room: RoomID) -> FrameForm {
        switch compression {
        case .none: return .plain
        case .alone: return .alone
        case .shared:
            guard let followed, followed.room == room else { return .plain }
            return followed.isInStep ? .inStep : .unprimed
        }
    }
}
