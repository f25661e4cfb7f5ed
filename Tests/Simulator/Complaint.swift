import BotSwarmCore

/// A sentence of a story's checks, by its kind. The kinds of the bots' ledger (`Finding.Kind`) are further ones. Each must be
/// said when the fault is there that it is about: `tools/mutate` has such a fault for every kind.
public struct Complaint: Sendable, CustomStringConvertible {
    public enum Kind: String, CaseIterable, Sendable {
        /// A node does not serve some time after a fault.
        case notReady
        /// A shard has not all of its replicas some time after a fault.
        case notReplicated
        /// A node that is drained keeps replicas.
        case notDrained
        /// The program of a node has ended by itself.
        case ended
        /// A call of the server API is not answered with success, however often it is repeated; or a request of anybody is
        /// refused where no node and no link has failed.
        case refused
        /// A message is not acked, however often it is repeated.
        case notAcked
        /// Somebody who only listens is not shown what is said.
        case deaf
        /// Somebody who only listens was not shown a message between two others, and not told so.
        case notShown
        /// Somebody who only listens was shown a message again, or behind a later one.
        case shownAgain
        /// Somebody who only listens was told that the room's leader is away and not that it is back, or the other way
        /// round; or was told of it where leadership was handed over only.
        case leaderToldWrongly
        /// Where no node and no link has failed, a request or a call was answered late, or not at all.
        case late
        /// A room counts somebody who is not there any more, or does not count somebody who is.
        case miscountedListeners
        /// An answer lacks what was acked before the question.
        case stale
        /// Something had got lost on the way between nodes, and was repaired, though no node and no link has failed.
        case repaired
        /// A complete replica can't lead.
        case leadsNever
        /// Two replicas say different things about a room.
        case replicasDiffer
        /// What is too old is still there, or what is not is gone.
        case agedWrongly
        /// A tap or a gift was answered and is not counted.
        case tapsLost
        /// A tap or a gift is counted twice.
        case tapsTwice
        /// A total was told that is not on disk, or one that is less than another before it.
        case totalToldWrongly
        /// A message is shown as it was before an amendment that was acked.
        case notAmended
        /// The counts of a poll are not the votes that were acked, or a vote is taken twice.
        case pollWrong
        /// A held message is there although it was denied, is not there although it was allowed, is there twice, or both
        /// was allowed and denied; or its sender was not told that it was denied.
        case heldWrongly
        /// A report that was acked is not listed, or is listed twice.
        case reportWrong
        /// A ban or a mute in all rooms does not hold at a node, or still holds after it was lifted.
        case sanctionWrong
        /// A room is still there after it was deleted, or was had back with something else than it had.
        case deletionWrong
        /// Somebody who was put out, or silenced, is refused what was done before.
        case doneAndRefused
        /// What a session asked for first was done later, or undid what it asked for later.
        case outOfOrder
        /// Somebody spoke on after being kicked.
        case spokeAfterKick
        /// A call of the server API that says of no other that it is the same was done twice.
        case doneTwice
        /// Somebody who has left has a seat.
        case seatOfGone
        /// The story has not come to its end within its time.
        case endless
    }

    /// Of ``Kind`` or of `Finding.Kind`.
    public let kind: String
    /// A sentence for people.
    public let text: String

    init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind.rawValue, text) }

    init(_ finding: Finding) { (kind, text) = (finding.kind.rawValue, finding.text) }

    /// The world of the simulation has failed, and nothing is known about its nodes.
    init(broken text: String) { (kind, self.text) = ("broken", text) }

    public static func endless(_ text: String) -> Complaint { Complaint(.endless, text) }
    public static func broken(_ text: String) -> Complaint { Complaint(broken: text) }

    public var description: String { "\(kind): \(text)" }

    /// All kinds of sentences that are said about nodes.
    public static var kinds: [String] { Kind.allCases.map(\.rawValue) + Finding.Kind.allCases.map(\.rawValue) }
}
