import ChatModel
import Synchronization
import Transport

/// How many connections a node takes (docs/CONFIGURATION.md); changed while it runs by SIGHUP, for new connections.
public struct ConnectionLimits: Sendable, Hashable {
    public var connectionsMax = 18_000
    /// From one IPv4 address or one /64 of IPv6.
    public var perAddressMax = 10_000
    /// This machine's own tools, tests and proxies are not held to `perAddressMax`: so it is by default, not where an
    /// operator has chosen a number.
    public var exemptsLoopback = true
    /// The connections of one user; anonymous clients have none.
    public var perUserMax = 20
    /// Bytes that the buffers of all connections together may hold; beyond it the greediest give way.
    public var bufferBytesMax = 512 << 20

    public init() {}
}

/// How many connections there are, per address, per user and in all, over all lanes of a node.
final class ConnectionBudget: Sendable {
    private struct Counts {
        var limits: ConnectionLimits
        var total = 0
        var byAddress: [IPRange: Int] = [:]
        var byUser: [UserID: Int] = [:]
        var hasToldOfRefusal = false
        /// When it was last told that the node is full; nil: it was not, or the node has had room since.
        var toldOfFullNodeAtMilliseconds: UInt64?

        /// Whether a part of the places is free. A single place that one client leaves and the next one takes is no room.
        var hasRoom: Bool { limits.connectionsMax - total >= max(1, limits.connectionsMax / 100) }
    }

    private let counts: Mutex<Counts>

    init(_ limits: ConnectionLimits) { counts = Mutex(Counts(limits: limits)) }

    func set(_ limits: ConnectionLimits) {
        counts.withLock {
            $0.limits = limits
            $0.hasToldOfRefusal = false
            $0.toldOfFullNodeAtMilliseconds = nil
        }
    }

    /// Whether no address was refused under these limits before.
    func noteRefusal() -> Bool {
        counts.withLock { !exchange(&$0.hasToldOfRefusal, with: true) }
    }

    /// Whether it is to be told that the node has no place: once until it has had room again, and each minute.
    func noteFullNode(nowMilliseconds: UInt64) -> Bool {
        counts.withLock {
            if let toldAt = $0.toldOfFullNodeAtMilliseconds, nowMilliseconds < toldAt + Self.tellAgainMilliseconds {
                return false
            }
            $0.toldOfFullNodeAtMilliseconds = nowMilliseconds
            return true
        }
    }

    private static let tellAgainMilliseconds: UInt64 = 60_000

    /// Takes a place on the node; false when there is none.
    func takeConnection() -> Bool {
        counts.withLock {
            guard $0.total < $0.limits.connectionsMax else { return false }
            $0.total += 1
            return true
        }
    }

    func giveConnection() {
        counts.withLock {
            $0.total -= 1
            if $0.hasRoom { $0.toldOfFullNodeAtMilliseconds = nil }
        }
    }

    /// Takes a place of an address's holder; false when there is none.
    func take(_ address: IPAddress) -> Bool {
        counts.withLock {
            let isExempt = $0.limits.exemptsLoopback && address.isLoopback
            return Self.take(address.holder, from: &$0.byAddress, max: isExempt ? .max : $0.limits.perAddressMax)
        }
    }

    func give(_ holder: IPRange) { counts.withLock { Self.give(holder, to: &$0.byAddress) } }

    /// Takes a place of a user; false when there is none.
    func take(_ user: UserID) -> Bool {
        counts.withLock { Self.take(user, from: &$0.byUser, max: $0.limits.perUserMax) }
    }

    func give(_ user: UserID) { counts.withLock { Self.give(user, to: &$0.byUser) } }

    var total: Int { counts.withLock { $0.total } }

    var connectionsMax: Int { counts.withLock { $0.limits.connectionsMax } }

    private static func take<Key>(_ key: Key, from counts: inout [Key: Int], max: Int) -> Bool {
        let count = counts[key, default: 0]
        guard count < max else { return false }
        counts[key] = count + 1
        return true
    }

    private static func give<Key>(_ key: Key, to counts: inout [Key: Int]) {
        guard let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
    }
}
