import ChatModel

/// Everything that one room emitted in one turn for one node, in order: what is for all its viewers there stands in it
/// once, however many lanes have some. So it travels once, and each lane reads its part of it.
///
/// Between two nodes publications arrive in order and without holes for as long as their connection lasts; when it
/// ends, the lanes announce their sessions anew and say what they have seen.
public struct NodePublication: Sendable, Equatable {
    public enum Output: Sendable, Equatable {
        /// For every lane of `lanes`.
        case all(RoomOutput)
        /// For one lane, which need not be in `lanes`.
        case lane(Int, RoomOutput)
        /// For every lane of `lanes`: a frame whose bytes come by other nodes. A receiver performs nothing from here on
        /// until it has them (`AwaitedBodies`), and then this is an `all`.
        case shared(RoomOutput, BodyReference)

        public var output: RoomOutput {
            switch self {
            case .all(let output), .lane(_, let output), .shared(let output, _): output
            }
        }
    }

    public var room: RoomID
    /// The leader's term: what an earlier leader still says after a later one was heard is not shown.
    public var term: UInt64
    /// The lanes that have viewers; each once.
    public var lanes: [Int]
    public var outputs: [Output]

    public init(room: RoomID, term: UInt64, lanes: [Int], outputs: [Output]) {
        self.room = room
        self.term = term
        self.lanes = lanes
        self.outputs = outputs
    }

    /// The outputs that are for that lane, in the order of the stream: read where they are, without a copy for the lane.
    public func forEachOutput(of lane: Int, _ body: (RoomOutput) -> Void) {
        let isOfAll = lanes.contains(lane)
        for output in outputs {
            switch output {
            case .all(let output): if isOfAll { body(output) }
            case .lane(let number, let output): if number == lane { body(output) }
            case .shared: preconditionFailure("lanes are handed a publication when all its bodies are there")
            }
        }
    }

    /// For each lane that is concerned, in order, the positions of the publications that have something for it.
    public static func byLane(_ publications: [NodePublication]) -> [(lane: Int, positions: [Int])] {
        var all: [(lane: Int, positions: [Int])] = []
        func note(_ lane: Int, _ position: Int) {
            guard let index = all.firstIndex(where: { $0.lane == lane }) else { return all.append((lane, [position])) }
            if all[index].positions.last != position { all[index].positions.append(position) }
        }
        for (position, publication) in publications.enumerated() {
            var isForAll = false
            for output in publication.outputs {
                switch output {
                case .all, .shared: isForAll = true
                case .lane(let lane, _): note(lane, position)
                }
            }
            if isForAll { for lane in publication.lanes { note(lane, position) } }
        }
        return all
    }
}
