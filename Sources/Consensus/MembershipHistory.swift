/// The memberships of the log, oldest first. The newest is in force, committed or not (thesis §4.1); when its entry is
/// truncated, the one before is in force again.
struct MembershipHistory: Sendable {
    private struct Item: Sendable {
        var index: UInt64
        var membership: GroupMembership
    }

    private var items: [Item]

    init(index: UInt64, membership: GroupMembership) {
        items = [Item(index: index, membership: membership)]
    }

    /// Never empty: truncation and compaction leave the oldest.
    var current: GroupMembership { items[items.count - 1].membership }
    /// Whether the membership in force has that voter alone.
    func isSoleVoter(_ server: ServerID) -> Bool {
        let newest = items.count - 1
        return items[newest].membership.voters.count == 1 && items[newest].membership.voters[0] == server
    }
    var currentIndex: UInt64 { items[items.count - 1].index }

    mutating func append(index: UInt64, membership: GroupMembership) {
        items.append(Item(index: index, membership: membership))
    }

    /// Whether another membership is in force now.
    mutating func truncate(from index: UInt64) -> Bool {
        let count = items.count
        while items.count > 1, let last = items.last, last.index >= index { items.removeLast() }
        return items.count != count
    }

    /// Forgets what was replaced at or before `index`.
    mutating func compact(upTo index: UInt64) {
        let stale = items.indices.prefix { $0 + 1 < items.count && items[$0 + 1].index <= index }
        items.removeFirst(stale.count)
    }

    /// `nil` before the oldest one known.
    func membership(at index: UInt64) -> GroupMembership? { items.last { $0.index <= index }?.membership }
}
