import ChatModel
import RoomCore
import RoomLink

/// Questions that wait until a majority has confirmed that this node still leads, and what came behind them.
///
/// One confirmation is under way at a time, for everything that waited when it began; what comes meanwhile waits for the
/// next.
struct UnconfirmedQuestions {
    /// Questions that may wait for a confirmation; more are refused with 503.
    static let waitingMaxDefault = 50_000

    private let waitingMax: Int
    private var waiting: [RoomWork] = []
    /// What the confirmation that is under way is for; empty when there is none.
    private var confirming: [RoomWork] = []
    /// Whose calls are among them: what such a session asks next comes after them.
    private var keys: [PresenceKey: Int] = [:]

    init(waitingMax: Int = Self.waitingMaxDefault) { self.waitingMax = waitingMax }

    /// Whether something of that session is here, or was taken and is not released yet.
    func mentions(_ key: PresenceKey) -> Bool { keys[key] != nil }

    /// Returns whether it was taken.
    mutating func append(_ work: RoomWork) -> Bool {
        guard work.mayWait(behind: waiting.count, max: waitingMax) else { return false }
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

    /// What the confirmation that was under way was for. Each is to be released just before it is handled.
    mutating func takeConfirmed() -> [RoomWork] {
        defer { confirming = [] }
        return confirming
    }

    /// From here on its session need not wait for it.
    mutating func release(_ work: RoomWork) {
        guard let key = work.key, let count = keys[key] else { return }
        keys[key] = count > 1 ? count - 1 : nil
    }

    /// Everything, in the order in which it came; a confirmation that is under way is for nothing then.
    mutating func takeAll() -> [RoomWork] {
        let all = confirming + waiting
        confirming = []
        waiting = []
        keys = [:]
        return all
    }
}
