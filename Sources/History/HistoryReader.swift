import Synchronization

/// Somebody who reads history: a session in a room. Its reads wait in a line of their own, of which one slice at a time is
/// done (`ReadQueue`), and none is done any more when it has gone.
public final class HistoryReader: Sendable {
    private let hasGone = Atomic(false)
    private let reads = Atomic<Int>(0)

    public init() {}

    /// Its reads, those that wait and the one that is under way, end with `.cancelled`.
    public func leave() { hasGone.store(true, ordering: .relaxed) }

    public var isGone: Bool { hasGone.load(ordering: .relaxed) }

    /// How many of its reads are not completed.
    public var readCount: Int { reads.load(ordering: .relaxed) }

    func begin() { reads.add(1, ordering: .relaxed) }
    func end() { reads.subtract(1, ordering: .relaxed) }
}
