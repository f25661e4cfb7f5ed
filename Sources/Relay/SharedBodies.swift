import ChatModel
import RoomProtocol

/// Frames of this node's rooms that go to more nodes than it sends them to itself: each gets a publication that names
/// the body, on its own connection and in order, and the body comes by a tree of relays (`RelayTree`). A relay may lose
/// what it is given, so the bodies are kept for a while, for those who ask. A value: time comes in, messages come out.
public struct SharedBodies: Sendable {
    /// The bounds of sharing.
    public struct Limits: Sendable, Hashable {
        /// Up to so many nodes get the bytes in their publications. With more nodes, this one sends a body to so many
        /// at most.
        public var childrenMax = RelayTree.childrenMax
        /// A smaller frame would save nothing by a name and a relay; bigger ones are few, and no relay has to hold the
        /// whole.
        public var bodyBytes = 512...1 << 20
        /// Bytes that are kept, of the newest bodies. A node that asks for an older one begins anew with its
        /// connection.
        public var keptBytesMax = 32 << 20
        /// Longer than anybody goes on asking (`AwaitedBodies`).
        public var keptMilliseconds: UInt64 = 5_000

        public init() {}
    }

    /// The most answers to one request; the rest is asked for again.
    static let answersMax = 256

    private struct Kept: Sendable {
        var body: SharedBody
        var since: UInt64
    }

    /// A frame that several nodes get, and where it stands in their publications.
    private struct Frame {
        struct Place {
            var node: NodeID
            var publication: Int
            var output: Int
        }

        var room: RoomID
        var body: SharedBody
        var places: [Place]
    }

    private let origin: NodeID
    private let life: UInt64
    private let limits: Limits
    /// By number; of `oldest...last`, without a hole.
    private var kept: [UInt64: Kept] = [:]
    private var oldest: UInt64 = 1
    private var last: UInt64 = 0
    private(set) var keptBytes = 0

    /// - Parameters:
    ///   - origin: this node.
    ///   - life: random, of this process.
    public init(origin: NodeID, life: UInt64, limits: Limits = Limits()) {
        (self.origin, self.life, self.limits) = (origin, life, limits)
    }

    /// When `forget` has something to do; nil while nothing is kept.
    public var nextForget: UInt64? { kept[oldest].map { $0.since + limits.keptMilliseconds } }

    /// The messages of a turn for each node, in order.
    ///
    /// - Parameter relays: whether a node takes bodies from others and passes them on: it is linked to this one.
    public mutating func messages(
        of turn: [NodeID: [NodePublication]], at now: UInt64, relays: (NodeID) -> Bool
    ) -> [(node: NodeID, messages: [NodeMessage])] {
        var named = turn
        // Before the publications, so that a relay has its bodies when it comes to them.
        var bodies: [NodeID: [NodeMessage]] = [:]
        for frame in frames(of: turn, relays: relays) where frame.places.count > limits.childrenMax {
            let name = keep(frame.body, at: now)
            let reference = BodyReference(frame.body, name: name)
            for place in frame.places { named[place.node]?[place.publication].share(place.output, reference) }
            let order = RelayTree.order(frame.places.map(\.node), of: frame.room)
            for branch in RelayTree.branches(to: order, childrenMax: limits.childrenMax) {
                let body = RelayedBody(
                    origin: origin, name: name, body: frame.body, descendants: branch.descendants)
                bodies[branch.node, default: []].append(.body(body))
            }
        }
        return named.map { node, publications in (node, bodies[node, default: []] + [.publications(publications)]) }
    }

    private func frames(of turn: [NodeID: [NodePublication]], relays: (NodeID) -> Bool) -> [Frame] {
        var frames: [Frame] = []
        var ofRoom: [RoomID: [Int]] = [:]
        for node in turn.keys.sorted() where relays(node) {
            for (number, publication) in (turn[node] ?? []).enumerated() {
                for (place, output) in publication.outputs.enumerated() {
                    guard case .all(let output) = output, let body = SharedBody(output),
                        limits.bodyBytes.contains(body.byteCount)
                    else { continue }
                    let place = Frame.Place(node: node, publication: number, output: place)
                    // Bytes that were made once have one place in memory: they are compared at once.
                    let known = ofRoom[publication.room]?.first {
                        frames[$0].places.last?.node != node && frames[$0].body == body
                    }
                    if let known {
                        frames[known].places.append(place)
                    } else {
                        ofRoom[publication.room, default: []].append(frames.count)
                        frames.append(Frame(room: publication.room, body: body, places: [place]))
                    }
                }
            }
        }
        return frames
    }

    private mutating func keep(_ body: SharedBody, at now: UInt64) -> BodyName {
        last += 1
        kept[last] = Kept(body: body, since: now)
        keptBytes += body.byteCount
        while keptBytes > limits.keptBytesMax { forgetOldest() }
        return BodyName(life: life, number: last)
    }

    /// The answers to a node that lacks these bodies.
    public func answers(to request: BodyNames) -> [NodeMessage] {
        var answers: [NodeMessage] = []
        var gone: [UInt64] = []
        for number in request.numbers.prefix(Self.answersMax) {
            if request.life == life, let body = kept[number]?.body {
                let name = BodyName(life: life, number: number)
                answers.append(.body(RelayedBody(origin: origin, name: name, body: body, descendants: [])))
            } else {
                gone.append(number)
            }
        }
        return gone.isEmpty ? answers : answers + [.bodiesGone(BodyNames(life: request.life, numbers: gone))]
    }

    /// Lets go of what nobody asks for any more.
    public mutating func forget(at now: UInt64) {
        while let next = nextForget, next <= now { forgetOldest() }
    }

    private mutating func forgetOldest() {
        keptBytes -= kept.removeValue(forKey: oldest)?.body.byteCount ?? 0
        oldest += 1
    }
}

extension NodePublication {
    /// Names the body of a frame in the place of its bytes.
    fileprivate mutating func share(_ place: Int, _ reference: BodyReference) {
        var output = outputs[place].output
        output.sharedFrame?.json = nil
        output.sharedFrame?.protobuf = nil
        outputs[place] = .shared(output, reference)
    }
}
