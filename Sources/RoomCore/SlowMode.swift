import ChatModel

/// When each user last spoke while slow mode is on.
///
/// A time is forgotten once the slow mode in force has passed, so this holds at most who spoke within it, and what a
/// longer one left behind, which goes a few at a time.
struct SlowMode: Sendable {
    private struct Spoken: Sendable {
        var user: UserID
        var time: Timestamp
    }

    private(set) var times: [UserID: Timestamp] = [:]
    private var order = Fifo<Spoken>()

    init() {}

    /// - Parameter times: in any order.
    init(times: [(user: UserID, time: Timestamp)]) {
        for (user, time) in times.sorted(by: { ($0.time, $0.user) < ($1.time, $1.user) }) {
            note(user, at: time)
        }
    }

    /// Milliseconds until the user may speak again; nil when at once.
    func wait(of user: UserID, seconds: Int64, at now: Timestamp) -> Int64? {
        guard seconds > 0, let last = times[user] else { return nil }
        let next = last.adding(seconds: seconds)
        return next > now ? next.milliseconds(since: now) : nil
    }

    mutating func note(_ user: UserID, at time: Timestamp) {
        times[user] = time
        order.append(Spoken(user: user, time: time))
    }

    /// Forgets a bounded number of those who may speak again, and returns them: their rows must go.
    mutating func prune(seconds: Int64, at now: Timestamp) -> [UserID] {
        var forgotten: [UserID] = []
        var steps = 0
        while steps < Self.prunedAtOnceMax, let oldest = order.first, oldest.time.adding(seconds: seconds) <= now {
            steps += 1
            order.removeFirst()
            // The user may have spoken again since.
            if times[oldest.user] == oldest.time {
                times[oldest.user] = nil
                forgotten.append(oldest.user)
            }
        }
        return forgotten
    }

    private static let prunedAtOnceMax = 8
}
