import ChatModel
import RoomCore

/// Times in which somebody who is not here may come back, and since when nobody has been here.
struct Graces {
    /// Owners of transient elements who are not here, and when their grace ends.
    var absentOwners: [UserID: Timestamp] = [:]
    /// Users who have left while others may still be announced: a seat that was on its way to one of them goes at once.
    private(set) var departed: Set<UserID> = []
    /// The seat of one who is beyond it goes with the grace of absent owners.
    static let departedMax = 1_024
    /// Sessions whose node can't be reached, and when their grace ends.
    private(set) var unreachable: [PresenceKey: Timestamp] = [:] { didSet { unreachableVersion &+= 1 } }
    private(set) var unreachableVersion: UInt64 = 0
    /// Those of them that this leader has from the former one, at whose node they are, while this node is reached and has
    /// said nothing of them: should it say nothing, they had left the former leader.
    private(set) var inherited: Set<PresenceKey> = []
    /// Lanes that have said since this leader led which sessions they have here.
    private(set) var announced: Set<Lane> = []
    /// Not later than the first end of those graces; nil: there is none.
    private(set) var nextEnd: Timestamp?
    /// Those whose grace was over when it was last looked: a lost node may have had very many.
    private var due: [PresenceKey] = []
    /// Whether anybody but robots was here when it was last asked.
    var hadPeople = false
    /// When the last one left since the room was loaded.
    var emptiedAt: Timestamp?
    /// Since when nobody had been here as the log knew, before this leader doubted it.
    var doubtedSince: Timestamp?

    var isEmpty: Bool { absentOwners.isEmpty && unreachable.isEmpty }

    /// - Parameter mayReturn: whether users who are not here may be announced still.
    mutating func depart(_ user: UserID, mayReturn: Bool) {
        guard mayReturn else { return forgetDeparted() }
        if departed.count < Self.departedMax { departed.insert(user) }
    }

    /// Whether the user is one of those who have left, as far as these are known.
    func mayHaveDeparted(_ user: UserID) -> Bool { departed.count >= Self.departedMax || departed.contains(user) }

    mutating func arrive(_ user: UserID) {
        if !departed.isEmpty { departed.remove(user) }
    }

    /// They are another leader's, or nobody is announced any more.
    mutating func forgetDeparted() {
        if !departed.isEmpty { departed = [] }
    }

    /// The session can't be reached until then, or is not here.
    mutating func begin(_ key: PresenceKey, until end: Timestamp) {
        unreachable[key] = end
        nextEnd = min(nextEnd ?? end, end)
    }

    /// The same of a session that this leader has from the former one.
    /// - Parameter isLost: whether its node is lost, or was since.
    mutating func inherit(_ key: PresenceKey, until end: Timestamp, isLost: Bool) {
        begin(key, until: end)
        if !isLost { inherited.insert(key) }
    }

    /// A lane has said which sessions it has here. Others of it are waited for no longer than that.
    mutating func note(announced lane: Lane, inherited keys: some Sequence<PresenceKey>, until end: Timestamp) {
        announced.insert(lane)
        for key in keys {
            guard let old = unreachable[key], end < old else { continue }
            begin(key, until: end)
        }
    }

    /// The node can't be reached: nobody there says any more what has become of its sessions.
    mutating func lose(_ node: NodeID) {
        // Those of two leaders may be among them, where one followed the other at once.
        if !inherited.isEmpty { inherited = inherited.filter { $0.node != node } }
        announced = announced.filter { $0.node != node }
    }

    /// Another leader's sessions are not this one's.
    mutating func beginLeading() { (inherited, announced) = ([], []) }

    /// The session is here, or nobody waits for it any more.
    mutating func end(_ key: PresenceKey) {
        guard !unreachable.isEmpty else { return }
        unreachable[key] = nil
        inherited.remove(key)
        if unreachable.isEmpty { nextEnd = nil }
    }

    /// The next session whose grace is over, and whether it had left the former leader; nil: no more.
    mutating func takeDue(at now: Timestamp) -> (key: PresenceKey, hadLeft: Bool)? {
        if due.isEmpty, let nextEnd, nextEnd <= now {
            due = unreachable.filter { $0.value <= now }.map(\.key)
            self.nextEnd = unreachable.values.lazy.filter { $0 > now }.min()
        }
        while let key = due.popLast() {
            // It may have been announced meanwhile, or be lost anew.
            guard let end = unreachable[key], end <= now else { continue }
            unreachable[key] = nil
            return (key, inherited.remove(key) != nil)
        }
        return nil
    }
}
