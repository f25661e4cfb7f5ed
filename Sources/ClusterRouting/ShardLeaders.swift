import ChatModel
import RoomProtocol
import Rooms
import Synchronization

/// A node's knowledge of who leads a shard.
package struct KnownLeader: Sendable, Hashable {
    /// Maybe the node itself; nil while nobody is known to lead.
    package var node: NodeID?
    /// Grows whenever a leader becomes known, be it the former one again.
    var version: UInt64

    init(_ node: NodeID?, version: UInt64) {
        self.node = node
        self.version = version
    }
}

/// The leader of each shard, as this node has heard; for anything but the way of a message.
package final class ShardLeaders: Sendable {
    private struct Leader {
        var node: NodeID
        var term: UInt64
        /// This node's replica does not hear it.
        var isSuspected = false
    }

    private struct State {
        var leaders: [ShardID: Leader] = [:]
        /// How often a leader of the shard has become known.
        var versions: [ShardID: UInt64] = [:]
        var waiters: [ShardID: [LeaderWaiter]] = [:]

        func known(_ shard: ShardID) -> KnownLeader {
            let leader = leaders[shard]
            return KnownLeader(
                leader?.isSuspected == false ? leader?.node : nil, version: versions[shard, default: 0])
        }

        /// A leader of the shard has become known: returns who waits for that.
        mutating func noteKnown(_ shard: ShardID) -> [LeaderWaiter] {
            versions[shard, default: 0] += 1
            return waiters.removeValue(forKey: shard) ?? []
        }
    }

    private let state = Mutex(State())

    func onLeader(_ node: NodeID, _ notice: ShardNotice) {
        take(node, notice) { $0.term <= notice.term }
    }

    /// The same, said once more: news only where the first word was lost.
    func onLeaderStill(_ node: NodeID, _ notice: ShardNotice) {
        take(node, notice) { $0.term < notice.term }
    }

    private func take(_ node: NodeID, _ notice: ShardNotice, where isOlder: (Leader) -> Bool) {
        let due: [LeaderWaiter] = state.withLock { state in
            guard state.leaders[notice.shard].map(isOlder) ?? true else { return [] }
            state.leaders[notice.shard] = Leader(node: node, term: notice.term)
            return state.noteKnown(notice.shard)
        }
        for waiter in due { waiter.end() }
    }

    /// Whether this node's replica of the shard hears the leader. False when others say that another one leads.
    func note(_ node: NodeID, _ notice: ShardNotice, isHeard: Bool) -> Bool {
        let (isKnown, due) = state.withLock { state -> (Bool, [LeaderWaiter]) in
            guard let known = state.leaders[notice.shard], known.node == node, known.term == notice.term else {
                return (false, [])
            }
            state.leaders[notice.shard]?.isSuspected = !isHeard
            return (true, isHeard && known.isSuspected ? state.noteKnown(notice.shard) : [])
        }
        for waiter in due { waiter.end() }
        return isKnown
    }

    /// The node leads that shard, or nothing (nil), any more.
    func onNodeLost(_ node: NodeID, _ shard: ShardID? = nil) {
        state.withLock { state in
            if let shard {
                if state.leaders[shard]?.node == node { state.leaders[shard] = nil }
            } else {
                state.leaders = state.leaders.filter { $0.value.node != node }
            }
        }
    }

    /// Tells somebody who could not be told before who leads what, as they have said it, and whether this node's
    /// replica hears them. `notify` only hands on: what is said meanwhile comes after it.
    package func repeatAll(_ notify: (_ node: NodeID, _ notice: ShardNotice, _ isHeard: Bool) -> Void) {
        state.withLock { state in
            for (shard, leader) in state.leaders {
                notify(leader.node, ShardNotice(shard: shard, term: leader.term), !leader.isSuspected)
            }
        }
    }

    /// The leader of the shard; none while this node's replica does not hear the leader.
    func leader(of shard: ShardID) -> KnownLeader { state.withLock { $0.known(shard) } }

    /// Every shard whose leader is known.
    var all: [ShardID: NodeID] { state.withLock { $0.leaders.filter { !$0.value.isSuspected }.mapValues(\.node) } }

    // MARK: - Waiting for a leader

    /// Returns when a leader of the shard has become known since `former` was read, at the latest at `deadline`.
    func change(of shard: ShardID, since former: KnownLeader, until deadline: ContinuousClock.Instant) async {
        let waiter = LeaderWaiter()
        let isDue = state.withLock { state in
            guard state.versions[shard, default: 0] == former.version else { return true }
            state.waiters[shard, default: []].append(waiter)
            return false
        }
        guard !isDue else { return }
        await waiter.wait(until: deadline)
        state.withLock { state in
            state.waiters[shard]?.removeAll { $0 === waiter }
            if state.waiters[shard]?.isEmpty == true { state.waiters[shard] = nil }
        }
    }

    /// How many wait.
    var waiterCount: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }
}

/// A call that waits for a leader.
private final class LeaderWaiter: Sendable {
    private enum Phase {
        case new
        case waiting(CheckedContinuation<Void, Never>)
        case ended
    }

    private let phase = Mutex(Phase.new)

    /// Returns when the wait was ended, at the latest at `deadline`.
    func wait(until deadline: ContinuousClock.Instant) async {
        let timer = Task { [self] in
            try? await Task.sleep(until: deadline)
            end()
        }
        await withCheckedContinuation { continuation in
            let hasEnded = phase.withLock { phase in
                if case .ended = phase { return true }
                phase = .waiting(continuation)
                return false
            }
            if hasEnded { continuation.resume() }
        }
        timer.cancel()
    }

    func end() {
        let waiting = phase.withLock { phase in
            defer { phase = .ended }
            return phase
        }
        if case .waiting(let continuation) = waiting { continuation.resume() }
    }
}
