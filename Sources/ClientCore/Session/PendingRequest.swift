import ChatModel
import Wire

/// A request that waits for the connection, for its room, or for its answer.
struct PendingRequest: Sendable {
    /// The purpose of the answer.
    enum Purpose: Sendable, Hashable {
        /// The app, which waits under that ticket.
        case app(ticket: UInt64)
        case connect
        case refresh
        /// A sign of life is wanted.
        case ping
        case enter(resumes: Bool)
        /// A stay that ended without a connection is made known.
        case exit
        /// Read while live pushes wait, from that seq on.
        case catchUp(from: UInt64)
        /// Read because of a SLOW gap.
        case fetch(ClosedRange<UInt64>)
    }

    /// Whether the request may be repeated when the answer was lost.
    enum Repeating: Sendable, Hashable {
        /// Nothing: it may have been performed.
        case never
        /// Ask again: it changes nothing.
        case read
        /// Ask again with the same `clientId` (PROTOCOL.md, "Retry").
        case change
    }

    /// Calls that one rate of the server bounds.
    struct Queue: Sendable, Hashable {
        var room: RoomID?
        var repeating: Repeating
    }

    var operation: ClientOperation
    var purpose: Purpose
    var repeating: Repeating
    var createdAt: ClientInstant
    /// When it was sent for the first time; a repeat counts from here.
    var firstSentAt: ClientInstant?
    /// When it was sent last.
    var lastSentAt: ClientInstant?
    /// Set while it is on the connection.
    var wireID: UInt32?
    /// It was on a connection that was replaced, and the app knows nothing of that.
    var isMoving = false
    /// After a refusal for now.
    var notBefore: ClientInstant?
    /// How often it was refused for now.
    var refusals = 0
    /// How often the server did not know that this client is in the room.
    var losses = 0

    init(_ operation: ClientOperation, _ purpose: Purpose, at now: ClientInstant) {
        self.operation = operation
        self.purpose = purpose
        repeating = operation.repeating
        createdAt = now
    }

    var room: RoomID? { operation.room }

    /// nil where a refusal for now is the answer.
    var queue: Queue? {
        guard case .app = purpose, repeating != .never else { return nil }
        return Queue(room: room, repeating: repeating)
    }

    /// The `clientId` of a send, whose delivery is told.
    var sendID: String? { if case .send(let request) = operation { request.clientID } else { nil } }

    /// Whether it ends with the connection: the next one asks anew.
    var endsWithConnection: Bool {
        switch purpose {
        case .app: false
        case .connect, .refresh, .ping, .enter, .exit, .catchUp, .fetch: true
        }
    }

    /// Whether it must not be repeated when its connection ends before the answer.
    var isSpentByLoss: Bool { !endsWithConnection && repeating == .never }

    /// When it is given up; nil for a request of the client's own that waits for its room or for a refusal to pass,
    /// which takes as long as it takes. A change may not be repeated when the server may have forgotten its `clientId`,
    /// after 10 minutes; a little less is safe.
    func expiry(_ settings: ClientSettings) -> ClientInstant? {
        guard !endsWithConnection else {
            return wireID == nil ? nil : lastSentAt?.adding(milliseconds: settings.readMilliseconds)
        }
        return switch repeating {
        case .never, .read: createdAt.adding(milliseconds: settings.readMilliseconds)
        case .change: (firstSentAt ?? createdAt).adding(milliseconds: Self.changeMilliseconds)
        }
    }

    static let changeMilliseconds = Limits.commandMemorySeconds * 1_000 - 10_000
}

extension ClientOperation {
    /// Whether this operation may be repeated when its answer was lost.
    var repeating: PendingRequest.Repeating {
        let row = row
        return switch row.repetition {
        case .never: .never
        case .harmless: .read
        case .underItsID: row.clientID == nil ? .never : .change
        }
    }
}
