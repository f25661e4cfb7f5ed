import ChatModel
import Gossip

/// A node's gossip core with the timer that drives it.
struct SimulatedGossip {
    var core: GossipMembership
    /// When its timer is set for.
    var tickAt: Duration?

    /// Faster than in earnest, since runs are short.
    static var configuration: GossipConfiguration {
        var configuration = GossipConfiguration()
        configuration.probeInterval = .milliseconds(800)
        configuration.probeTimeout = .milliseconds(300)
        configuration.gossipInterval = .milliseconds(400)
        configuration.suspicionMult = 2
        configuration.suspicionMaxTimeoutMult = 2
        configuration.pushPullInterval = .seconds(4)
        configuration.reconnectInterval = .seconds(2)
        return configuration
    }

    static func id(_ number: Int) -> NodeID {
        guard let id = NodeID("n\(number)") else { preconditionFailure("letters and digits are an ID") }
        return id
    }

    static func address(_ number: Int) -> GossipAddress {
        guard let address = GossipAddress("n\(number):7000") else { preconditionFailure("an ID makes an address") }
        return address
    }

    static func number(_ address: GossipAddress) -> Int? {
        Int(address.description.dropFirst().prefix { $0 != ":" })
    }

    init(number: Int, store: UInt64, incarnation: UInt64, now: Duration, seed: UInt64) {
        core = GossipMembership(
            GossipMember(node: Self.id(number), store: store, gossipAddress: Self.address(number)),
            incarnation: incarnation, configuration: Self.configuration, now: now, randomSeed: seed)
    }
}
