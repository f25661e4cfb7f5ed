import ChatModel

/// The events that a room tells its app, in order.
public enum RoomEvent: Sendable, Hashable {
    /// The stay has another state.
    case state(ConnectionState)
    /// In the room, for the first time or again: fresh room information.
    case entered(RoomEntry)
    /// A message or a notification. Kept ones come in the order of `seq`, each once.
    case message(Message)
    /// The messages that a gap had left out, oldest first: to be sorted in by `seq`.
    case filled([Message])
    /// Transient comments.
    case barrage([BarrageItem])
    /// These seqs were not received.
    case gap(Gap)
    /// Counts of what this viewer was spared, or this consumer did not take in time.
    case skipped(Skipped)
    /// How many are in the room.
    case online(Int64)
    /// Totals of tallies that have changed, by key; all are on disk.
    case tallies([String: Int64])
    /// For managers: a message waits for them. Its ID is the `heldID`, it has no place in the room's order.
    case held(Message)
    /// An own message that was held was not let through.
    case denied(Denial)
    /// Out of the room; a final state follows, and the client does not enter again by itself.
    case kicked(Kick)
    /// An own send has another status.
    case delivery(DeliveryChange)
    /// Something of this room that this version of the SDK does not know, in its place among the messages: to be shown
    /// as such, or ignored.
    case unsupported(Unsupported)
}

/// The answer to `enter`.
public struct RoomEntry: Sendable, Hashable {
    /// The fate of the messages since the last stay or connection.
    public enum Recovery: Sendable, Hashable {
        /// Entered without a past: live messages begin after `seq`.
        case fresh
        /// Everything that was missed follows as messages: no hole, no duplicate.
        case complete
        /// It cannot be promised (another epoch, older than history, beyond the room's seq): drop what is shown and
        /// read the newest history.
        case impossible
    }

    public var room: RoomView
    public var me: Member
    /// The life of the room that seqs count in.
    public var epoch: String
    /// The seq that the reply covers.
    public var seq: UInt64
    public var recovery: Recovery
    /// The queue as of `seq`, if it was asked for.
    public var queue: [QueueElement]?
    /// There when `queue` is only the first part of a long queue: what the next page is asked for `after`.
    public var queueNext: String?
    /// The room's tallies, if they were asked for.
    public var tallies: [Tally]?

    public init(
        room: RoomView, me: Member, epoch: String, seq: UInt64, recovery: Recovery, queue: [QueueElement]? = nil
    ) {
        self.room = room
        self.me = me
        self.epoch = epoch
        self.seq = seq
        self.recovery = recovery
        self.queue = queue
    }
}

/// Seqs that were not received.
public struct Gap: Sendable, Hashable {
    /// Why they were not.
    public enum Cause: Sendable, Hashable {
        /// The connection was too slow. The client reads them from history by itself: `filled` follows.
        case slow
        /// The room says more than a viewer is shown. Never fetched unasked; the app may, with `history`.
        case budget
        /// This consumer of events did not take them in time. Others may have; `history` has them.
        case consumer
        /// Nobody brings them: history does not give them (any more), or more SLOW gaps wait than
        /// `ClientSettings.gapReadsMax`.
        case unavailable
    }

    /// Ascending, disjoint.
    public var ranges: [ClosedRange<UInt64>]
    public var cause: Cause

    public init(ranges: [ClosedRange<UInt64>], cause: Cause) {
        self.ranges = ranges
        self.cause = cause
    }
}

/// Counts of what did not come.
public struct Skipped: Sendable, Hashable {
    /// Barrage items.
    public var barrage: Int64
    /// Messages without a seq.
    public var unkept: Int64
    /// Other events that this consumer did not take in time.
    public var events: Int64

    public init(barrage: Int64 = 0, unkept: Int64 = 0, events: Int64 = 0) {
        self.barrage = barrage
        self.unkept = unkept
        self.events = events
    }
}

/// An own message that was held and not let through (PROTOCOL.md, "Held messages").
public struct Denial: Sendable, Hashable {
    public var heldID: String
    /// The ID of its send.
    public var clientID: String?
    /// As the manager has given it; else EXPIRED, WITHDRAWN, MUTED, KICKED, BLACKLISTED or ROOM_CLOSED.
    public var reason: String?

    public init(heldID: String, clientID: String? = nil, reason: String? = nil) {
        self.heldID = heldID
        self.clientID = clientID
        self.reason = reason
    }
}

/// Why a stay was ended.
public struct Kick: Sendable, Hashable {
    public var reason: KickReason
    /// The `notifyExt` of the cause.
    public var ext: String?

    public init(reason: KickReason, ext: String? = nil) {
        self.reason = reason
        self.ext = ext
    }
}

/// Something of a later version of the protocol.
public struct Unsupported: Sendable, Hashable {
    /// A description of what was not understood, for people and logs.
    public var summary: String
    /// The message, if it was one: its place in the order, its sender and its time are as ever.
    public var message: Message?

    public init(_ summary: String, message: Message? = nil) {
        self.summary = summary
        self.message = message
    }
}

/// The events that the whole client tells its app.
public enum ClientEvent: Sendable, Hashable {
    /// The client has another state.
    case state(ClientState)
    /// A message to everyone online: it belongs to no room.
    case broadcast(Message)
    /// A message to this user from the app's server: it belongs to no room.
    case direct(Message)
    /// This user's sessions, the earliest first; after each `connect`, and when they change.
    case devices([ConnectedDevice])
    /// The token ends in so many seconds; the client asks the token provider for a new one.
    case tokenExpiring(seconds: Int64)
    /// The token has ended or was refused (4401); the client asks the token provider and connects again.
    case tokenExpired
    /// The app's server has put this user offline (4403): the client stops.
    case forcedOffline
    /// A newer connection has taken the session over (4410): the client stops.
    case takenOver
    /// A push that this version of the SDK does not know.
    case unsupported(Unsupported)
    /// So many events were not taken by this consumer in time; the latest state follows.
    case skipped(events: Int64)
}

extension RoomEvent {
    /// A message or a notification, or something of a later version.
    package init(_ message: Message) {
        self = message.laterVersion.map { RoomEvent.unsupported($0) } ?? .message(message)
    }
}

extension Message {
    /// A description of the message when its type or its event is of a later version of the protocol; else nil.
    package var laterVersion: Unsupported? {
        switch body {
        case .unknown(let type): Unsupported("a message of the type \(type)", message: self)
        case .notification(let notification):
            if case .unknown(let event) = notification.data {
                Unsupported("the notification \(event)", message: self)
            } else {
                nil
            }
        default: nil
        }
    }
}
