public import ChatModel
public import NodeLinkCore

/// An event that a link tells its observers, on its loop.
public enum LinkEvent: Sendable, Hashable {
    /// The node is reached from here on. Messages that were sent before and not answered are lost.
    ///
    /// - version: what is spoken, the newest that both sides know.
    /// - boot: tells a node that has started anew from one that was only cut off.
    /// - store: of its data directory.
    case up(NodeID, version: UInt32, boot: UInt64, store: UInt64)
    /// The node is not reached any more.
    case down(NodeID)
    /// A lane to that node that has refused a frame has room again: half of its bound.
    case hasRoom(NodeID, LinkLane)
    /// A connection came to nothing or has ended, and why: for the log.
    ///
    /// - node: the one that was called, or that the other side has proved to be; nil for all others, whoever they say
    ///   to be.
    /// - isProven: the other side has proved to be it.
    case failed(NodeID?, LinkError, isProven: Bool)
}

/// A frame that has come and is to be dealt with: handed back when that is done, so that the sender may send more.
public struct LinkReceipt: Sendable, Hashable {
    let connection: LinkPeers.ConnectionID
    let lane: LinkLane
    let bytes: Int
}
