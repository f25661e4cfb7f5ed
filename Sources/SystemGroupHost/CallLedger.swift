import ChatModel
import Wire

/// Results of calls with an idempotency key, for as long as a `clientId` is remembered (PROTOCOL.md, "Retry").
///
/// At most `callsMax`: beyond that the oldest is forgotten before its time, and a repeat of it would be done again.
struct CallLedger: Sendable {
    static let callsMaxDefault = 10_000
    /// Keys begin so that nodes have made for calls without one. They have a ledger of their own, and push out no others.
    static let nodePrefix = "/node/"
    /// Bytes of an answer that is kept; of a longer one only that the call has begun.
    static let answerBytesMax = 16 << 10

    private struct Memory: Sendable {
        var time: Timestamp
        var result: SystemResult
    }

    private var memories: [String: Memory] = [:]
    /// In the order of their times; what `memories` says otherwise of is out of date.
    private var order = Fifo<(key: String, time: Timestamp)>()

    private let callsMax: Int

    init(callsMax: Int = Self.callsMaxDefault) { self.callsMax = callsMax }

    /// Counts what is known, not what is out of date, which a replica that was restored does not have.
    var isFull: Bool { memories.count >= callsMax }

    func result(of key: String) -> SystemResult? { memories[key]?.result }

    mutating func remember(_ key: String, _ result: SystemResult, at time: Timestamp) {
        guard memories.updateValue(Memory(time: time, result: result), forKey: key) == nil else { return }
        order.append((key, time))
        while memories.count > callsMax { forgetOldest() }
        // Outdated results go, at least half of it all, and no valid one.
        guard order.count > 2 * callsMax else { return }
        order = Fifo(order.filter { memories[$0.key]?.time == $0.time })
    }

    /// Keeps how a call ended that has begun, or forgets it (nil); nothing when it is not known (any more).
    mutating func finish(_ key: String, answer: [UInt8]?) {
        guard let answer else { return memories[key] = nil }
        guard answer.count <= Self.answerBytesMax else { return }
        memories[key]?.result = .answered(answer)
    }

    mutating func forget(at now: Timestamp) {
        while let oldest = order.first, oldest.time.adding(seconds: Limits.commandMemorySeconds) <= now {
            forgetOldest()
        }
    }

    private mutating func forgetOldest() {
        guard let (key, time) = order.popFirst() else { return }
        if memories[key]?.time == time { memories[key] = nil }
    }
}

extension CallLedger {
    mutating func restore(_ calls: [SystemCall]) {
        for call in calls {
            let result: SystemResult =
                if let time = call.revokedAt {
                    .revoked(at: time)
                } else if let answer = call.answer {
                    answer.isEmpty ? .done : .answered(answer)
                } else {
                    .begun
                }
            remember(call.key, result, at: call.time)
        }
    }

    /// Everything that is remembered, oldest first.
    var stored: [SystemCall] {
        order.compactMap { key, time in
            guard let memory = memories[key], memory.time == time else { return nil }
            var call = SystemCall(key: key, time: memory.time, answer: nil)
            switch memory.result {
            case .revoked(let time): call.revokedAt = time
            case .answered(let answer): call.answer = answer
            case .done: call.answer = []
            case .begun, .refused: break
            }
            return call
        }
    }
}
