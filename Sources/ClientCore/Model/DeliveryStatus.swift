import ChatModel

/// The outcome of one send.
public enum DeliveryStatus: Sendable, Hashable {
    /// It waits for the connection or for its ack.
    case sending
    /// Acked: on disk on a majority of the room's replicas. With a `heldID` it waits for a manager: it comes as a message with
    /// the same `clientID` when it is let through, and else as `denied`.
    case sent(SendReceipt)
    /// Refused: it is not in the room.
    case failed(ClientError)
    /// The ack was lost. The client repeats it with the same `clientID` and learns the truth; after 10 minutes it does
    /// not repeat it any more, and this status is the last one.
    case unknown
}

/// The server's answer to a send.
public struct SendReceipt: Sendable, Hashable {
    public var clientID: String
    /// Empty for one that is held.
    public var messageID: String
    public var time: Timestamp
    /// Where in the room's order the message stands.
    public var place: MessagePlace
    /// There if the priority was lowered.
    public var priority: Priority?
    /// How many of the users in `to` are here; there if `to` was given.
    public var delivered: Int64?
    /// The message waits for a manager, under this ID: nobody sees it, and nothing else is said of it. `recall` of the ID
    /// withdraws it.
    public var heldID: String?

    public init(clientID: String, messageID: String, time: Timestamp, place: MessagePlace) {
        self.clientID = clientID
        self.messageID = messageID
        self.time = time
        self.place = place
    }

    /// The message's seq; nil for one that is not kept.
    public var seq: UInt64? { if case .kept(let seq) = place { seq } else { nil } }
}

/// A send whose status has changed.
public struct DeliveryChange: Sendable, Hashable {
    public var clientID: String
    public var status: DeliveryStatus

    public init(clientID: String, status: DeliveryStatus) {
        self.clientID = clientID
        self.status = status
    }
}
