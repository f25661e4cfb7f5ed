import ChatModel
import RoomCore
import RoomProtocol

/// Questions that wait until a majority has confirmed that this node still leads, and what came behind them; then until
/// there is time for them.
///
/// One confirmation is under way at a time, for everything that waited when it began; what comes meanwhile waits for
/// the next.
struct ReadIndexQueue {
    /// Questions that may wait for a confirmation; more are refused with 503.
    static let waitingMaxDefault = 50_000

    private let waitingMax: Int
    private var waiting: [RoomWork] = []
    /// The questions of the confirmation that is under way; empty when there is none.
    private var confirming: [RoomWork] = []
    /// Confirmed questions that have not been taken, from `next` on.
    private var confirmed: [RoomWork] = []
    private var next = 0
    /// Sessions whose calls are among them: what such a session asks next comes after them.
    private var keys: [PresenceKey: Int] = [:]

    init(waitingMax: Int = Self.waitingMaxDefault) { self.waitingMax = waitingMax }

    /// Whether something of that session is here, or was taken and is not released yet.
    func mentions(_ key: PresenceKey) -> Bool { keys[key] != nil }

    /// Returns whether it was taken.
    mutating func append(_ work: RoomWork) -> Bool {
        guard work.mayWait(behind: waiting.count + confirmed.count - next, max: waitingMax) else { return false }
        waiting.append(work)
        if let key = work.key { keys[key, default: 0] += 1 }
        return true
    }

    /// Returns whether a majority is to be asked now.
    mutating func beginConfirming() -> Bool {
        guard confirming.isEmpty, !waiting.isEmpty else { return false }
        swap(&confirming, &waiting)
        return true
    }

    /// The confirmation that was under way has come.
    mutating func endConfirming() {
        if confirmed.isEmpty { swap(&confirmed, &confirming) } else { confirmed += confirming }
        confirming = []
    }

    /// Whether something is confirmed and not taken.
    var hasConfirmed: Bool { next < confirmed.count }

    /// The next of what is confirmed, in order, to be handled at once: from here on its session need not wait for it.
    mutating func takeConfirmed() -> RoomWork? {
        guard next < confirmed.count else { return nil }
        let work = confirmed[next]
        next += 1
        if next == confirmed.count {
            confirmed = []
            next = 0
        } else if next >= Self.takenMax {
            confirmed.removeFirst(next)
            next = 0
        }
        if let key = work.key, let count = keys[key] { keys[key] = count > 1 ? count - 1 : nil }
        return work
    }

    /// So much of what was taken is kept.
    private static let takenMax = 16_384

    /// Everything, in the order in which it came; a confirmation that is under way is for nothing then.
    mutating func takeAll() -> [RoomWork] {
        let all = confirmed[next...] + confirming + waiting
        confirmed = []
        next = 0
        confirming = []
        waiting = []
        keys = [:]
        return Array(all)
    }
}
