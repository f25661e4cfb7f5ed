import ChatModel
import RoomCore
import RoomProtocol
import Wire

/// A command on its way through the log, and who waits for it.
struct Proposal: Sendable {
    enum Origin: Sendable {
        /// One reference, since it is looked at in several places and copied in each.
        indirect case session(SessionRequest)
        case server(ServerOrigin)
        /// A lane, which waits with its next window of taps.
        case taps(Lane, window: UInt64)
        /// A part of a command that waits for it.
        case batch(RecalledBatches)
        /// The room's own: nobody waits.
        case room

        /// The same, with what was read for the change to be brought along besides its request.
        func charged(_ bytes: Int) -> Origin {
            guard case .session(var request) = self else { return self }
            request.charged = bytes
            return .session(request)
        }
    }

    var command: Command
    var key: CommandKey?
    var origin: Origin
    /// The place at which a session's change is counted until it is decided. It stands beside the origin, which would be
    /// copied to look at it.
    var slot: UInt8?
    /// Whether words and hook are asked before it is proposed.
    var moderate = false
    /// The user whose calls wait until it is decided, because it throws that user out.
    var throwsOut: UserID?
    /// Messages whose other recalls wait until it is decided.
    var recalls: [UInt64] = []
    /// The message that nobody else amends until it is decided.
    var amends: UInt64?

    /// How many messages had been recalled when its facts were looked up (`RecentSeqs`).
    var erasuresBefore: UInt64 = 0

    var isWaitedFor: Bool { throwsOut != nil || !recalls.isEmpty || amends != nil }

    /// The window of taps that its room does not propose again until it is decided.
    var taps: TapBatch? {
        if case .taps = origin, case .tap(let batch) = command.body { batch } else { nil }
    }
}

/// A proposal that does not change any more, as one reference: it is handed on with each step towards its room.
final class ProposedCommand: Sendable {
    let content: Proposal

    init(_ content: consuming Proposal) { self.content = content }
}

/// The caller to answer, which of its requests, and with which result.
struct SessionRequest: Sendable {
    var address: SessionAddress
    var request: UInt32?
    var answer: OperationChange.Answer
    /// The bytes that it has brought along besides the request, or would have, for its session's rate in bytes.
    var charged = 0
    /// When the room took it up.
    var startedAt = ContinuousClock.now
}
