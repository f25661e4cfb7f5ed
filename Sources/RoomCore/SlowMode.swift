import ChatModel

/// When each user last spoke while slow mode is on.
///
/// A time is forgotten when the slow mode in force has passed since; a room in which nobody speaks any more is given an
/// `expire` for it. So this holds at most who spoke within the slow mode of then, and a minute more.
struct SlowMode: Sendable {
    struct Spoken: Sendable, Equatable {
        var time: Timestamp
        /// When it is looked at again, if nothing happens in the room before: the deadline of its row.
        var sweepAt: Timestamp
    }

    private struct Place: Sendable, Comparable {
        var sweepAt: Timestamp
        var user: UserID

        static func < (a: Place, b: Place) -> Bool { (a.sweepAt, a.user) < (b.sweepAt, b.user) }
    }

    private(set) var times: [UserID: Spoken] = [:]
    private var order = SortedList<Place>()

    init() {}

    /// - Parameter times: in any order.
    init(times: [(user: UserID, spoken: Spoken)]) {
        for (user, spoken) in times { note(user, spoken) }
    }

    /// When the row of somebody who spoke at `time` is to be swept: a minute after it means nothing any more, so that
    /// what happens anyway removes most of them.
    static func sweepTime(_ time: Timestamp, seconds: Int64) -> Timestamp {
        time.adding(seconds: seconds).adding(seconds: 60)
    }

    /// When the first row is to be swept; nil when there are none.
    var nextSweep: Timestamp? { order.first?.sweepAt }

    /// Milliseconds until the user may speak again; nil when at once.
    func wait(of user: UserID, seconds: Int64, at now: Timestamp) -> Int64? {
        guard seconds > 0, let last = times[user]?.time else { return nil }
        let next = last.adding(seconds: seconds)
        return next > now ? next.milliseconds(since: now) : nil
    }

    mutating func note(_ user: UserID, _ spoken: Spoken) {
        if let old = times.updateValue(spoken, forKey: user) { order.remove(Place(sweepAt: old.sweepAt, user: user)) }
        order.insert(Place(sweepAt: spoken.sweepAt, user: user))
    }

    /// Looks at a bounded number of those who were to be forgotten first, and returns what became of them: nil for who
    /// may speak again, another sweep for whom a slow mode that was made longer still holds up.
    mutating func prune(seconds: Int64, at now: Timestamp) -> [(user: UserID, spoken: Spoken?)] {
        var changed: [(user: UserID, spoken: Spoken?)] = []
        while changed.count < Self.prunedAtOnceMax, let oldest = order.first, let spoken = times[oldest.user] {
            if spoken.time.adding(seconds: seconds) <= now {
                times[oldest.user] = nil
                order.remove(oldest)
                changed.append((oldest.user, nil))
            } else if oldest.sweepAt <= now {
                let later = Spoken(time: spoken.time, sweepAt: Self.sweepTime(spoken.time, seconds: seconds))
                note(oldest.user, later)
                changed.append((oldest.user, later))
            } else {
                break
            }
        }
        return changed
    }

    private static let prunedAtOnceMax = 8
}
