import ChatModel

/// A message of one node to another about rooms and sessions, on the link's lanes for calls and for publications.
public enum NodeMessage: Sendable, Equatable {
    /// Requests to rooms that the receiving node leads: of the sending node's sessions and of the server API's calls that
    /// wait there, in order.
    case requests([RoomRequest])
    /// The ends of the server API's calls that wait at the receiving node.
    case answers([ServerAnswer])
    /// Publications of rooms that the sending node leads to the lanes of the receiving one, in order.
    case publications([NodePublication])
    /// The shards that the sending node leads.
    case leads([ShardNotice])
    /// `id`: the asking node's, which the answer carries.
    case question(id: UInt64, NodeQuestion)
    case answer(id: UInt64, Result<NodeAnswer, ChatError>)
    /// A body that a publication of a node, mostly another one, names in the place of its bytes.
    case body(RelayedBody)
    /// The receiving node has named these bodies, and they have not come: it is to send them itself.
    case bodyRequest(BodyNames)
    /// The sending node does not have these bodies any more.
    case bodiesGone(BodyNames)
    /// The shards that the sending node leads, once a second, behind what their rooms have told.
    case pulses([ShardPulse])
    /// A lane of the sending node has something else than the pulses say.
    case tallyRequest(TallyRequest)
    case tallies(ShardTallies)
    /// Behind the calls of the lane.
    case recount(LaneRecount)
    /// The requests of users at the sending node within about a second; at most `UserUse.usersMax` users. The report
    /// may get lost.
    case uses([UserUse])
    /// The sending node has taken these sessions up: a node that holds an older copy of one ends it.
    case takenOver([TakenSession])
    /// The sending node leads the shard, and has sessions in its rooms.
    case presence(PresenceUpdate)
}

/// A message from another node that can't be understood.
public struct NodeMessageError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// It is not what a node of any version says. The connection is of no use then.
        case malformed
        /// It is over a bound.
        case tooLarge
    }

    public var code: Code
    /// For people: a sentence without a stop.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
