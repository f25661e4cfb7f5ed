import ChatModel
import RoomCore

/// Times in which somebody who is not here may come back, and since when nobody has been here.
struct Graces {
    /// Owners of transient elements who are not here, and when their grace ends.
    var absentOwners: [UserID: Timestamp] = [:]
    /// Sessions whose node can't be reached, and when their grace ends.
    var unreachable: [PresenceKey: Timestamp] = [:] { didSet { unreachableVersion &+= 1 } }
    private(set) var unreachableVersion: UInt64 = 0
    /// Whether anybody but robots was here when it was last asked.
    var hadPeople = false
    /// When the last one left since the room was loaded.
    var emptiedAt: Timestamp?
    /// Since when nobody had been here as the log knew, before this leader doubted it.
    var doubtedSince: Timestamp?

    var isEmpty: Bool { absentOwners.isEmpty && unreachable.isEmpty }
}
