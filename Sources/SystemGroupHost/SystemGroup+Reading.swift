import ChatModel
import Consensus
import EventLoop
import GroupDriver
import Synchronization
import Wire

/// Looks into the applied state, from any thread.
extension SystemGroup {
    private var current: SharedSystemState {
        guard let state = shared.withLock({ $0 }) else {
            preconditionFailure("the system group has not been started")
        }
        return state
    }

    /// The nodes that the cluster consists of.
    public var nodes: [NodeRecord] { current.value.withLock { $0.nodes } }

    /// The cluster's feature level, as far as this node has heard.
    public var level: FeatureLevel { current.value.withLock { $0.level } }

    /// Nodes that were removed from the cluster, and are not heard any more.
    public var refusedNodes: RefusedNodes { current.value.withLock { $0.refusedNodes } }

    /// All settings that are in force.
    public var settings: [SettingName: Setting] { current.value.withLock { $0.settings } }

    /// One setting; nil when it was never put, or was removed.
    public func setting(_ name: SettingName) -> Setting? { current.value.withLock { $0.settings[name] } }

    /// Whether a token of the user is refused because of a revocation. `issuedAt` nil: the token has no `iat`.
    public func refuses(_ user: UserID, issuedAt: Timestamp?) -> Bool {
        current.value.withLock { $0.revocations.refuses(user, issuedAt: issuedAt) }
    }

    /// The ban or the mute of a user in all rooms that is in force now.
    public func sanction(_ kind: SanctionKind, of user: UserID) -> UserSanction? {
        let now = now()
        return current.value.withLock { $0.sanctions.sanction(kind, of: user, at: now) }
    }

    /// The ban or mute for which the user may speak in no room; nil: there is none. Rooms ask it for each message.
    public func silencing(of user: UserID) -> (kind: SanctionKind, sanction: UserSanction)? {
        guard current.value.withLock({ !$0.sanctions.isEmpty }) else { return nil }
        for kind in SanctionKind.allCases {
            if let sanction = sanction(kind, of: user) { return (kind, sanction) }
        }
        return nil
    }

    /// All that are in force, in the order of their users. It takes a while with many.
    public func sanctions(
        _ kind: SanctionKind, after: UserID?, limit: Int
    ) -> Page<(user: UserID, sanction: UserSanction), UserID> {
        let (now, sanctions) = (now(), current.value.withLock { $0.sanctions })
        return sanctions.page(kind, after: after, limit: limit, at: now)
    }

    /// The sanctions of which the app's webhook is not told yet, and how many older ones it will not hear of.
    public var owedSanctions: (events: [SanctionEvent], forgotten: Int64) {
        current.value.withLock { ($0.owedSanctions, $0.forgottenSanctions) }
    }

    /// The `iat` for a token that is issued now: later than any revocation of the user.
    public func issueTime(for user: UserID) -> Timestamp {
        let now = now()
        return current.value.withLock { $0.revocations.issueTime(for: user, at: now) }
    }

    /// The status of the group, for operators.
    public struct Status: Sendable {
        public var term: UInt64
        public var leader: NodeID?
        public var replicas: [NodeID]
        public var applied: UInt64
    }

    public func status() async -> Status {
        let (loop, parts) = (loop, parts)
        return await loop.run {
            guard let log = parts.value?.log else { preconditionFailure("the system group has not been started") }
            return Status(
                term: log.term, leader: log.leader.flatMap { NodeID($0.node) },
                replicas: log.membership.voters.compactMap { NodeID($0.node) }, applied: log.appliedIndex)
        }
    }

    /// Calls `observer` on the group's loop: at once for the level, the nodes and each setting that there is, then for
    /// every change in the order of the log, before whoever made it gets its answer. It must not block; it hands over to
    /// its own loop or thread.
    public func observe(_ observer: @escaping @Sendable (SystemChange) -> Void) async {
        let (loop, parts) = (loop, parts)
        await loop.run {
            guard let system = parts.value else { preconditionFailure("the system group has not been started") }
            system.host.observe(observer)
        }
    }
}
