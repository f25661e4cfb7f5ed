import ChatModel
import Wire

/// Which cluster this is.
public struct ClusterIdentity: Sendable, Hashable {
    /// Random, made when the cluster is created.
    public var id: String
    /// Fixed for the cluster's life.
    public var shardCount: UInt16

    public init(id: String, shardCount: UInt16) {
        self.id = id
        self.shardCount = shardCount
    }
}

/// A change by an applied command, for those who act on it.
public enum SystemChange: Sendable, Hashable {
    /// Tokens of the user issued at this time or before are refused from now on.
    case revoked(UserID, at: Timestamp)
    /// A user is banned or muted in all rooms from now on; nil: no more.
    case sanctioned(UserID, SanctionKind, UserSanction?)
    /// A setting has another value; nil: it was removed.
    case setting(SettingName, Setting?)
    /// The nodes that the cluster consists of are these now.
    case nodes([NodeRecord])
    /// The cluster's feature level is another, higher one.
    case level(FeatureLevel)
}

/// The state that belongs to no room: which cluster this is, its nodes, revocations, settings, and calls that were made
/// with an idempotency key. Pure and deterministic: every node that applies the same log has the same state.
public struct SystemState: Sendable {
    /// nil until the cluster has been created.
    public private(set) var cluster: ClusterIdentity?
    /// In the order in which they were first taken in.
    public internal(set) var nodes: [NodeRecord] = []
    /// Nodes that were taken out, and former stores of nodes that came again with another one; oldest first.
    public internal(set) var removed: [RemovedNode] = []
    /// The cluster's feature level.
    public internal(set) var level = FeatureLevel.first
    /// The last command's stamp.
    public private(set) var time = Timestamp(0)
    public private(set) var revocations = Revocations()
    public internal(set) var sanctions = Sanctions()
    /// The sanctions of which the app's webhook is not told yet, oldest first, and how many older ones it will not hear of.
    public internal(set) var owedSanctions: [SanctionEvent] = []
    public internal(set) var forgottenSanctions: Int64 = 0
    public private(set) var settings: [SettingName: Setting] = [:]
    private var calls = CallLedger()
    private var nodeCalls = CallLedger()
    /// The nonces of signed requests, for twice as long as they hold.
    private var nonces = CallLedger(callsMax: Self.noncesMax)

    /// Settings that there may be; a further one is refused.
    public static let settingsMax = 64
    /// Nonces of the last ten minutes; a further one is refused, so that none is forgotten too early.
    public static let noncesMax = 100_000
    /// Bytes of one setting.
    public static let settingBytesMax = 1 << 20
    /// Nodes that there may be; a further one is refused.
    public static let nodesMax = 64
    /// Removed nodes that are remembered. Beyond that stores are forgotten of nodes that may come again, the oldest
    /// first, and where there are none of these, no further node is removed.
    public static let removedMax = 256
    /// Bytes of a node's address and URLs together.
    public static let nodeBytesMax = 16 << 10

    public init() {}

    /// Applies a committed entry.
    public mutating func apply(_ entry: SystemEntry, index: UInt64) -> (result: SystemResult, change: SystemChange?) {
        time = max(time, entry.time)
        calls.forget(at: time)
        nodeCalls.forget(at: time)
        nonces.forget(at: time)
        if case .nonce = entry.command { return (use(nonce: entry.key ?? ""), nil) }
        if let key = entry.key {
            if case .finish(let answer) = entry.command {
                self[keyPath: Self.ledger(of: key)].finish(key, answer: answer)
                return (.done, nil)
            }
            if let known = self[keyPath: Self.ledger(of: key)].result(of: key) { return (known, nil) }
            if case .begin = entry.command {
                self[keyPath: Self.ledger(of: key)].remember(key, .begun, at: time)
                return (.done, nil)
            }
        }
        let (result, change) = perform(entry.command, index: index)
        if let key = entry.key, !result.isRefusal {
            self[keyPath: Self.ledger(of: key)].remember(key, result, at: time)
        }
        return (result, change)
    }

    private static func ledger(of key: String) -> WritableKeyPath<SystemState, CallLedger> {
        key.hasPrefix(CallLedger.nodePrefix) ? \.nodeCalls : \.calls
    }

    private mutating func use(nonce: String) -> SystemResult {
        if nonces.result(of: nonce) != nil { return .begun }
        guard !nonces.isFull else {
            return .refused(
                ChatError(.unavailable, "too many signed requests in the last ten minutes", retryAfterMs: 10_000))
        }
        nonces.remember(nonce, .begun, at: time)
        return .done
    }

    private mutating func perform(_ command: SystemCommand, index: UInt64) -> (SystemResult, SystemChange?) {
        switch command {
        case .createCluster(let id, let shardCount, let node, let store, let level):
            if cluster == nil {
                self.level = level
                cluster = ClusterIdentity(id: id, shardCount: shardCount)
                nodes = [NodeRecord(node: node, store: store, takenInAt: time)]
                return (.done, .nodes(nodes))
            }
            return (.done, nil)
        case .revoke(let user):
            let time = revocations.revoke(user, at: time)
            return (.revoked(at: time), .revoked(user, at: time))
        case .sanction(let user, let kind, let seconds, let reason, let owes):
            return sanction(user, kind, seconds: seconds, reason: reason, owes: owes, index: index)
        case .sanctionsTold(let index): return sanctionsTold(through: index)
        case .put(let name, let value?):
            guard value.count <= Self.settingBytesMax else {
                return (.refused(ChatError(.tooLarge, "a setting has at most \(Self.settingBytesMax) bytes")), nil)
            }
            guard settings[name] != nil || settings.count < Self.settingsMax else {
                return (.refused(ChatError(.conflict, "there are \(Self.settingsMax) settings already")), nil)
            }
            let setting = Setting(value: value, version: index)
            settings[name] = setting
            return (.done, .setting(name, setting))
        case .put(let name, nil):
            guard settings.removeValue(forKey: name) != nil else { return (.done, nil) }
            return (.done, .setting(name, nil))
        case .addNode(let record): return add(record)
        case .removeNode(let node, let certificate): return remove(node, certificate)
        case .readmitNode(let node): return readmit(node)
        case .setDraining(let node, let isDraining): return setDraining(node, isDraining)
        case .raiseLevel(let level, let stores): return raise(to: level, stores)
        case .begin, .finish, .nonce:
            // Without a key the first two say nothing; the last one does not get here.
            return (.done, nil)
        }
    }
}

extension SystemResult {
    var isRefusal: Bool { if case .refused = self { true } else { false } }
}

// MARK: - Another state

extension SystemState {
    /// The changes that observers must be told when this state takes the place of `old`, which it goes on from.
    func changes(since old: SystemState) -> [SystemChange] {
        var changes: [SystemChange] =
            nodes == old.nodes && removed == old.removed ? [] : [.nodes(nodes)]
        if level != old.level { changes.append(.level(level)) }
        for name in Set(settings.keys).union(old.settings.keys).sorted() where settings[name] != old.settings[name] {
            changes.append(.setting(name, settings[name]))
        }
        for (user, time) in revocations.oldestFirst where !old.revocations.refuses(user, issuedAt: time) {
            changes.append(.revoked(user, at: time))
        }
        return changes + sanctionChanges(since: old)
    }
}

// MARK: - On disk

extension SystemState {
    public init(restoring snapshot: SystemSnapshot) {
        if let shards = UInt16(exactly: snapshot.shardCount), shards > 0 {
            cluster = ClusterIdentity(id: snapshot.clusterID, shardCount: shards)
        }
        nodes = snapshot.nodes
        removed = snapshot.removed
        level = snapshot.level
        time = snapshot.time
        revocations = Revocations(floor: snapshot.floor, snapshot.revocations.map { ($0.user, $0.time) })
        for setting in snapshot.settings {
            guard let name = SettingName(setting.name) else { continue }
            settings[name] = Setting(value: setting.value, version: setting.version)
        }
        restoreSanctions(snapshot)
        calls.restore(snapshot.calls.filter { !$0.key.hasPrefix(CallLedger.nodePrefix) })
        nodeCalls.restore(snapshot.calls.filter { $0.key.hasPrefix(CallLedger.nodePrefix) })
        nonces.restore(snapshot.nonces)
    }

    /// The whole state; `restoring` it gives an equal one. O(everything): not for a loop.
    public func snapshot(appliedIndex: UInt64) -> SystemSnapshot {
        var snapshot = SystemSnapshot()
        snapshot.appliedIndex = appliedIndex
        snapshot.clusterID = cluster?.id ?? ""
        snapshot.shardCount = Int64(cluster?.shardCount ?? 0)
        snapshot.nodes = nodes
        snapshot.removed = removed
        snapshot.level = level
        snapshot.time = time
        snapshot.floor = revocations.floor
        snapshot.revocations = revocations.oldestFirst.map { SystemRevocation(user: $0.user, time: $0.time) }
        snapshot.settings = settings.sorted { $0.key < $1.key }.map {
            SystemSetting(name: $0.key.text, value: $0.value.value, version: $0.value.version)
        }
        storeSanctions(in: &snapshot)
        snapshot.calls = calls.stored + nodeCalls.stored
        snapshot.nonces = nonces.stored
        return snapshot
    }
}
