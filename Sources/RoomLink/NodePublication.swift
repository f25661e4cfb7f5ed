import ChatModel

/// Everything that one room emitted in one turn for one node, in order: what is for all its viewers there stands in it
/// once, however many lanes have some. So it travels once, and the node hands it to each lane.
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

    /// The part of each lane that has one, in the order of the stream.
    var byLane: [(lane: Int, publication: Publication)] {
        var parts = lanes.map { (lane: $0, publication: Publication(room: room, term: term, outputs: [])) }
        let all = parts.count
        for output in outputs {
            switch output {
            case .all(let output):
                for index in 0..<all { parts[index].publication.outputs.append(output) }
            case .lane(let lane, let output):
                if let index = parts.firstIndex(where: { $0.lane == lane }) {
                    parts[index].publication.outputs.append(output)
                } else {
                    parts.append((lane, Publication(room: room, term: term, outputs: [output])))
                }
            case .shared: preconditionFailure("lanes are handed a publication when all its bodies are there")
            }
        }
        return parts.filter { !$0.publication.outputs.isEmpty }
    }

    /// The outputs for each lane of the node, in order.
    public static func byLane(_ publications: [NodePublication]) -> [(lane: Int, publications: [Publication])] {
        var all: [(lane: Int, publications: [Publication])] = []
        for publication in publications {
            for (lane, part) in publication.byLane {
                if let index = all.firstIndex(where: { $0.lane == lane }) {
                    all[index].publications.append(part)
                } else {
                    all.append((lane, [part]))
                }
            }
        }
        return all
    }
}
