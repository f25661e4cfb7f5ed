import ChatModel

/// Takes calls to nodes that lead rooms. Implemented by the node, given to gateways.
public protocol RoomRouter: Sendable {
    /// Hands over what one lane's loop turn has for one node, in order. Called on the lane's loop. Calls that do not
    /// arrive there are asked again when the connection to that node is known to have ended.
    func route(_ calls: [RoomRequest], to node: NodeID, from lane: Int)
    /// Asks the leader of a shard what it knows of a lane.
    func ask(_ request: TallyRequest, of node: NodeID)
    /// Behind what the lane has routed to that node.
    func recount(_ recount: LaneRecount, at node: NodeID)
    /// Tells every other node that is reached what users have asked for at this one. Nobody is told when that gets
    /// lost.
    func notify(_ uses: [UserUse])
    /// Nothing is heard of what another node leads: the connection to it is of no use, and is to be made anew.
    func drop(_ node: NodeID)
    /// Whether there is a connection to that node: without one its silence tells nothing new.
    func reaches(_ node: NodeID) -> Bool
}
