import ChatModel
import RoomCore

/// Sessions that were told after their gateway's death that they had been put out, when they asked to enter as if they
/// were still here. Told once, a session that enters again does so anew.
struct ToldKicks {
    /// Beyond that all are forgotten, and may be told once more.
    static let countMax = 1_024
    /// With the time at which each was taken up by the node that was told.
    private var sessions: [PresenceKey: Timestamp] = [:]

    mutating func note(_ session: PresenceKey, revivedAt: Timestamp?) {
        if sessions.count >= Self.countMax { sessions = [:] }
        sessions[session] = revivedAt
    }

    /// Whether a session has been told since it was taken up.
    func has(_ session: PresenceKey, revivedAt: Timestamp) -> Bool { sessions[session] == revivedAt }
}
