/// The account of one viewer and droppable class in the present stay: owed, received, and told as spared.
///
/// Owed is what was sent after the stay had begun and then accepted. A loss is explained by a `skipped` that covers it,
/// or by the end of the stay: a disconnect, or the room's owner going away, which both begin a new account.
package struct LossAccount: Sendable {
    /// Received in all stays.
    package private(set) var receivedInAll: UInt64 = 0
    /// Told as skipped in all stays.
    package private(set) var toldInAll: UInt64 = 0
    /// Items older than the window in which doubles are noticed.
    package private(set) var unjudged: UInt64 = 0

    private var window = ReceiptWindow()
    private var began: SwarmInstant?
    private var received: UInt64 = 0
    private var told: UInt64 = 0

    package init() {}

    /// A stay begins; whatever was owed in the one before is forgiven.
    package mutating func begin(at instant: SwarmInstant) {
        began = instant
        received = 0
        told = 0
    }

    /// The stay ends.
    package mutating func end() { began = nil }

    /// Returns false for an item that has come before.
    package mutating func receive(number: Int, sentAt: SwarmInstant) -> Bool {
        switch window.insert(number) {
        case .again: return false
        case .tooOld: unjudged += 1
        case .first: break
        }
        receivedInAll += 1
        if let began, sentAt >= began { received += 1 }
        return true
    }

    /// Returns false for a number that can't be a count.
    package mutating func notify(_ count: Int64) -> Bool {
        guard count >= 0, count <= Int64(SeqSet.seqMax) else { return false }
        told = min(told &+ UInt64(count), SeqSet.seqMax)
        toldInAll = min(toldInAll &+ UInt64(count), SeqSet.seqMax)
        return true
    }

    /// How many of the accepted items neither came nor were told of.
    ///
    /// - Parameter acceptedSendTimes: when each accepted item was first sent, ascending.
    package func unexplained(acceptedSendTimes: [SwarmInstant]) -> UInt64 {
        guard let began else { return 0 }
        let owed = UInt64(acceptedSendTimes.count - Self.firstIndex(in: acceptedSendTimes, notBefore: began))
        let explained = received + told
        return owed > explained ? owed - explained : 0
    }

    private static func firstIndex(in times: [SwarmInstant], notBefore instant: SwarmInstant) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < instant { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
