/// SWIM's and Lifeguard's parameters, under the names that memberlist made customary; defaults are its for a LAN.
///
/// Das, Gupta, Motivala: SWIM (DSN 2002); Dadgar, Phillips, Currey: Lifeguard (DSN-W 2018).
public struct GossipConfiguration: Sendable, Hashable {
    /// Between two probes of this node; SWIM's protocol period.
    public var probeInterval = Duration.seconds(1)
    /// After a ping without an answer, others are asked to ping. Below `probeInterval`.
    public var probeTimeout = Duration.milliseconds(500)
    /// How many others are asked.
    public var indirectChecks = 3
    /// Bound of the local health score, by which a node that seems slow itself stretches its probes (Lifeguard).
    public var awarenessMaxMultiplier = 8
    /// Unconfirmed suspicion lasts `suspicionMult` x log10(members) x `probeInterval` x `suspicionMaxTimeoutMult`, and
    /// the last factor shrinks to 1 as others confirm (Lifeguard).
    public var suspicionMult = 4
    public var suspicionMaxTimeoutMult = 6
    public var gossipInterval = Duration.milliseconds(200)
    /// How many members a round of gossip goes to.
    public var gossipNodes = 3
    /// Each node sends a piece of news `retransmitMult` x log10(members + 1), rounded up, times.
    public var retransmitMult = 4
    /// How long a dead member is still sent gossip, so that it may learn of it and refute.
    public var gossipToTheDead = Duration.seconds(30)
    /// Between two exchanges of everything with a random member (anti-entropy).
    public var pushPullInterval = Duration.seconds(30)
    /// Between two attempts to reach a dead member or, for a node that is alone, the addresses given to `join`: two
    /// halves of a network that hold each other for dead find together again by nothing else.
    public var reconnectInterval = Duration.seconds(10)
    /// A member that is dead or has left is forgotten after that.
    public var deadRetention = Duration.seconds(3_600)
    /// Members kept. At the bound, the longest dead makes place for a new one; without one the new one is not taken.
    public var membersMax = 256
    /// Pings for others under way. Beyond it, requests are not served: SWIM has other helpers.
    public var relaysMax = 64
    /// Bytes of a packet before it is sealed; with the seal (`GossipSeal`) at most 1,400.
    public var packetBytesMax = 1_340
    /// A node that leaves says so for at most that long.
    public var leaveTimeout = Duration.seconds(5)

    public init() {}

    /// Transmissions of one piece of news by one node.
    func retransmitLimit(members: Int) -> Int {
        // The digits of a number are its logarithm, rounded up, but for powers of ten, which get one more.
        max(1, retransmitMult) * String(max(members, 1)).utf8.count
    }

    /// The shortest suspicion.
    func suspicionMin(members: Int) -> Duration {
        probeInterval * (Double(suspicionMult) * max(1, Logarithm.base10(Double(max(members, 1)))))
    }
}

/// The standard library has no logarithms, and the targets that have one bring I/O with them.
enum Logarithm {
    /// To 2^-20, for numbers of at least 1.
    static func base2(_ number: Double) -> Double {
        guard number >= 1, number.isFinite else { return 0 }
        var result = Double(number.exponent)
        var rest = number.significand
        var digit = 0.5
        for _ in 0..<20 {
            rest *= rest
            if rest >= 2 {
                rest /= 2
                result += digit
            }
            digit /= 2
        }
        return result
    }

    static func base10(_ number: Double) -> Double { base2(number) / 3.321_928_094_887_362 }
}
