/// SWIM's and Lifeguard's parameters, under the names that memberlist made customary. DECISIONS.md says why some
/// differ from its for a LAN.
///
/// Das, Gupta, Motivala: SWIM (DSN 2002); Dadgar, Phillips, Currey: Lifeguard (DSN-W 2018).
public struct GossipConfiguration: Sendable, Hashable {
    /// Between two probes of this node; SWIM's protocol period.
    public var probeInterval = Duration.seconds(1)
    /// After a ping without an answer, others are asked to ping, and as long again is waited for them.
    public var probeTimeout = Duration.milliseconds(300)
    /// How many others are asked.
    public var indirectChecks = 3
    /// Bound of the local health score, by which a node that seems slow itself stretches its probes (Lifeguard).
    public var awarenessMaxMultiplier = 8
    /// Unconfirmed suspicion lasts `suspicionMult` x (1 + log10(members)) / 2 x `probeInterval` x
    /// `suspicionMaxTimeoutMult`, and the last factor shrinks to 1 as others confirm (Lifeguard). The logarithm is 1 at
    /// least.
    public var suspicionMult = 2
    public var suspicionMaxTimeoutMult = 3
    /// So many confirmations bring it down to that; with fewer who could confirm it is so short at once.
    public var suspicionConfirmations = 2
    /// About so many members ping at once who may be gone, of all who hear of it: enough to confirm, and not everybody
    /// in a large cluster.
    public var witnesses = 8
    public var gossipInterval = Duration.milliseconds(200)
    /// How many members a round of gossip goes to.
    public var gossipNodes = 3
    /// Each node sends a piece of news `retransmitMult` x log10(members + 1), rounded up and at least 2, times.
    public var retransmitMult = 4
    /// How long a dead member is still sent gossip, so that it may learn of it and refute.
    public var gossipToTheDead = Duration.seconds(30)
    /// Between two exchanges of everything with a random member (anti-entropy); with more than `pushPullScale` members
    /// longer, by one such interval for each time that they double.
    public var pushPullInterval = Duration.seconds(30)
    public var pushPullScale = 32
    /// A node that has started begins with such intervals and doubles them: nodes that start together know few others
    /// from the one that they join through, and learn the rest from each other.
    public var firstPushPullInterval = Duration.seconds(1)
    /// Between two attempts to reach a dead member or, for a node that is alone, the addresses given to `join`: this
    /// alone lets two halves of a network find each other again when each has declared the other one dead.
    public var reconnectInterval = Duration.seconds(10)
    /// A member that is dead or has left is forgotten after that.
    public var deadRetention = Duration.seconds(3_600)
    /// Members kept. At the bound, the longest dead makes place for a new one; without one the new one is not taken.
    public var membersMax = 256
    /// Pings for others under way. Beyond it, requests are not served: SWIM has other helpers.
    public var relaysMax = 64
    /// Bytes of a packet before it is sealed; with the seal (`PacketSealer`) at most 1,400.
    public var packetBytesMax = 1_340
    /// A node that leaves says so for at most that long.
    public var leaveTimeout = Duration.seconds(5)

    public init() {}

    /// Transmissions of one piece of news by one node.
    func retransmitLimit(members: Int) -> Int {
        // The digits of a number are its logarithm, rounded up, but for powers of ten, which get one more. With as few
        // times as one digit gives, one of a few nodes misses a piece of news in some hundred.
        max(1, retransmitMult) * max(2, String(max(members, 1)).utf8.count)
    }

    /// The shortest suspicion.
    func suspicionMin(members: Int) -> Duration {
        probeInterval * (Double(suspicionMult) * (1 + max(1, Logarithm.base10(Double(max(members, 1))))) / 2)
    }

    /// Between two exchanges of everything when all is quiet.
    func pushPullInterval(members: Int) -> Duration {
        var interval = pushPullInterval
        var bound = max(1, pushPullScale)
        while members > bound {
            interval += pushPullInterval
            bound *= 2
        }
        return interval
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
