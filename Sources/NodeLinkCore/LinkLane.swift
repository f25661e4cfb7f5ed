/// Frames between two nodes are sorted into lanes, so that nothing urgent waits behind something big. Numbers are on
/// the wire: they are never changed or used again.
public enum LinkLane: UInt8, Sendable, Hashable, CaseIterable {
    /// The link's own: hello, refusal, credit, ping.
    case control = 0
    /// Consensus messages of all groups. Any of them may be lost.
    case consensus = 1
    /// Calls of sessions and of the server API, with the answers.
    case calls = 2
    /// Publications of rooms to gateways, in order.
    case publications = 3
    /// Back-fill and snapshots.
    case bulk = 4

    /// The most bytes of one frame's payload. A bigger frame would hold up the lanes above it.
    public var frameBytesMax: Int {
        switch self {
        case .control: 4 << 10
        case .consensus: 4 << 20
        case .calls, .publications: 4 << 20
        case .bulk: 256 << 10
        }
    }

    /// Bytes that may be under way and not yet dealt with by the receiver; nil: no such bound, because the sender has
    /// one of its own (Raft's in-flight window), and credit must not wait for credit.
    public var windowBytes: Int? {
        switch self {
        case .control, .consensus: nil
        case .calls, .publications: 8 << 20
        case .bulk: 1 << 20
        }
    }

    /// Bytes that wait at the sender; what is offered beyond is not taken.
    public var queueBytesMax: Int {
        switch self {
        case .control: 64 << 10
        case .consensus: 16 << 20
        // A gateway says at once who is in all rooms of a leader: 100,000 sessions of usual size, 7,000 of the greatest.
        case .calls: 64 << 20
        case .publications: 32 << 20
        case .bulk: 1 << 20
        }
    }
}
