import ChatModel

/// Which of the cluster's nodes reach fewer others than they should, as they say themselves. A network may keep two nodes
/// apart that both reach a third: what is led by one is then dead for the clients of the other, so the third is to lead it
/// (DECISIONS.md, "Placement").
///
/// A node that reaches all says nothing. A value: times are passed in, in milliseconds of a clock that never goes back.
public struct ClusterReach: Sendable {
    /// A difference counts when it has lasted so long: a node that ends or begins is missed by some before the others.
    public static let patienceMilliseconds: UInt64 = 4_000
    /// A node's word about itself holds so long, unless it says something else.
    public static let ageMillisecondsMax: UInt64 = 5_000
    /// A node that reached fewer than this one is not given anything for so long, so that a link that comes and goes does not
    /// move leaders to and fro.
    public static let doubtMilliseconds: UInt64 = 30_000

    private struct Word: Sendable {
        var unreached: Set<NodeID>
        var heardAt: UInt64
    }

    private let own: NodeID
    private var words: [NodeID: Word] = [:]
    private var moreSince: [NodeID: UInt64] = [:]
    private var fewerSince: [NodeID: UInt64] = [:]
    private var doubtedUntil: [NodeID: UInt64] = [:]

    /// The listed nodes that this one does not reach, as of the last look.
    public private(set) var unreached: Set<NodeID> = []
    /// The nodes that this one does not reach, and another does: they are there to be called.
    public private(set) var reachedByOthers: Set<NodeID> = []
    /// The nodes that reach more of the cluster than this one, and have for a while.
    public private(set) var reachingMore: Set<NodeID> = []
    /// The nodes that reach less of it, or did a short time ago.
    public private(set) var reachingFewer: Set<NodeID> = []

    public init(own: NodeID) { self.own = own }

    /// A node says which listed nodes it does not reach. Nothing is kept of nodes that are not listed.
    public mutating func note(_ node: NodeID, unreached: Set<NodeID>, listed: Set<NodeID>, at now: UInt64) {
        guard node != own, listed.contains(node) else { return }
        words[node] = Word(unreached: unreached.intersection(listed), heardAt: now)
    }

    /// Compares what this node reaches with what the others have said.
    public mutating func look(listed: Set<NodeID>, reached: Set<NodeID>, at now: UInt64) {
        unreached = listed.subtracting(reached).subtracting([own])
        words = words.filter { listed.contains($0.key) && now < $0.value.heardAt + Self.ageMillisecondsMax }
        reachedByOthers = unreached.filter { node in
            words.contains { $0.key != node && !$0.value.unreached.contains(node) }
        }
        let counts = words.mapValues { $0.unreached.intersection(listed).count }
        // A node that this one does not reach can't be given anything.
        let more = Set(counts.filter { $0.value < unreached.count }.keys).intersection(reached)
        let fewer = Set(counts.filter { $0.value > unreached.count }.keys)
        moreSince = Self.since(moreSince, more, now)
        fewerSince = Self.since(fewerSince, fewer, now)
        reachingMore = Self.lasting(moreSince, now)
        for node in Self.lasting(fewerSince, now) { doubtedUntil[node] = now + Self.doubtMilliseconds }
        doubtedUntil = doubtedUntil.filter { listed.contains($0.key) && now < $0.value }
        reachingFewer = Set(doubtedUntil.keys)
    }

    private static func since(_ former: [NodeID: UInt64], _ nodes: Set<NodeID>, _ now: UInt64) -> [NodeID: UInt64] {
        Dictionary(uniqueKeysWithValues: nodes.map { ($0, former[$0] ?? now) })
    }

    private static func lasting(_ since: [NodeID: UInt64], _ now: UInt64) -> Set<NodeID> {
        Set(since.filter { now >= $0.value + patienceMilliseconds }.keys)
    }
}
