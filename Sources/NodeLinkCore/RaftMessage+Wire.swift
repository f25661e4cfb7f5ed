import ChatModel
import Consensus
import Wire

/// Consensus messages as they travel: those of all groups that one turn has for one node, in one frame.
public enum ConsensusFrames {
    /// Frames of about this size, so that the receiver's loops are not held up.
    static let frameBytesWanted = 1 << 20

    /// The messages in their order. One that is over the bound of a frame by itself is left out, as if it were lost;
    /// the core's own bounds keep appends far below.
    public static func frames(of messages: [RaftMessage]) -> [LinkFrame] {
        var frames: [LinkFrame] = []
        var payload: [UInt8] = []
        for message in messages {
            var one: [UInt8] = []
            WireProtobuf.appendDelimited(WiredMessage(message), to: &one)
            guard one.count <= LinkLane.consensus.frameBytesMax else { continue }
            if !payload.isEmpty, payload.count + one.count > frameBytesWanted {
                frames.append(LinkFrame(.consensus, payload))
                payload = []
            }
            payload += one
        }
        if !payload.isEmpty { frames.append(LinkFrame(.consensus, payload)) }
        return frames
    }

    /// - Parameters:
    ///   - sender: whom the link vouches for: a message from another node is a fault, and ends the connection.
    ///   - store: that of its hello; so is a message of another store of its.
    /// - Throws: `malformed`, `identity`.
    public static func messages(in payload: [UInt8], from sender: NodeID, store: UInt64) throws(LinkError)
        -> [RaftMessage]
    {
        var messages: [RaftMessage] = []
        var rest = payload[...]
        while !rest.isEmpty {
            guard let one = delimited(&rest) else {
                throw LinkError(.malformed, "a consensus frame ends in the middle of a message")
            }
            let message: RaftMessage
            do throws(ChatError) {
                message = try WireProtobuf.decode(WiredMessage.self, from: Array(one), limits: true).message()
            } catch {
                throw LinkError(.malformed, "no consensus message: \(error.message)")
            }
            guard message.from == ServerID(node: sender.text, store: store) else {
                throw LinkError(
                    .identity, "\(sender) sent a message of \(message.from.node) with the store \(message.from.store)")
            }
            messages.append(message)
        }
        return messages
    }

    /// A length as a varint, and so many bytes.
    private static func delimited(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var length = 0
        var shift = 0
        while true {
            guard let byte = rest.popFirst(), shift <= 28 else { return nil }
            length |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { break }
            shift += 7
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length)
    }
}

/// The kind of a message. Numbers are on the wire.
private enum MessageKind: String, WireEnum {
    case preVote = "PRE_VOTE"
    case preVoteReply = "PRE_VOTE_REPLY"
    case vote = "VOTE"
    case voteReply = "VOTE_REPLY"
    case append = "APPEND"
    case appendAccepted = "APPEND_ACCEPTED"
    case appendRejected = "APPEND_REJECTED"
    case heartbeat = "HEARTBEAT"
    case heartbeatReply = "HEARTBEAT_REPLY"
    case snapshot = "SNAPSHOT"
    case snapshotFailed = "SNAPSHOT_FAILED"
    case timeoutNow = "TIMEOUT_NOW"
    case higherTerm = "HIGHER_TERM"

    static var blank: MessageKind { .higherTerm }

    var number: Int {
        switch self {
        case .preVote: 1
        case .preVoteReply: 2
        case .vote: 3
        case .voteReply: 4
        case .append: 5
        case .appendAccepted: 6
        case .appendRejected: 7
        case .heartbeat: 8
        case .heartbeatReply: 9
        case .snapshot: 10
        case .snapshotFailed: 11
        case .timeoutNow: 12
        case .higherTerm: 13
        }
    }
}

/// A message with the fields of all kinds; what a kind does not use is not there.
private struct WiredMessage: WireMessage {
    var group: UInt32 = 0
    var from = WiredServer(ServerID(node: "", store: 0))
    var to = WiredServer(ServerID(node: "", store: 0))
    var term: UInt64 = 0
    var kind = MessageKind.blank
    /// Last, previous, match or snapshot index.
    var index: UInt64 = 0
    /// The term of the entry there, or of the hint.
    var indexTerm: UInt64 = 0
    var hintIndex: UInt64 = 0
    var commitIndex: UInt64 = 0
    var readRound: UInt64 = 0
    /// Granted, by transfer, or declines.
    var flag = false
    var entries: [WiredEntry] = []
    /// The snapshot's membership, encoded as in the log.
    var membership: [UInt8] = []

    static var blank: WiredMessage { WiredMessage() }
    static var schemaName: String { "ConsensusMessage" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "group", &group, .integers(0, Int64(UInt16.max)))
        try walker.required(2, "from", &from, .none)
        try walker.required(3, "to", &to, .none)
        try walker.shown(4, "term", &term)
        try walker.required(5, "kind", &kind, .none)
        try walker.shown(6, "index", &index)
        try walker.shown(7, "indexTerm", &indexTerm)
        try walker.shown(8, "hintIndex", &hintIndex)
        try walker.shown(9, "commitIndex", &commitIndex)
        try walker.shown(10, "readRound", &readRound)
        try walker.defaulted(11, "flag", &flag, default: false)
        try walker.repeated(12, "entries", &entries)
        try walker.shown(13, "membership", &membership)
    }

    init() {}

    init(_ message: RaftMessage) {
        group = UInt32(message.group.number)
        from = WiredServer(message.from)
        to = WiredServer(message.to)
        term = message.term
        switch message.body {
        case .preVote(let lastIndex, let lastTerm, let hasWaited):
            (kind, index, indexTerm, flag) = (.preVote, lastIndex, lastTerm, hasWaited)
        case .preVoteReply(let granted): (kind, flag) = (.preVoteReply, granted)
        case .vote(let lastIndex, let lastTerm, let isTransfer):
            (kind, index, indexTerm, flag) = (.vote, lastIndex, lastTerm, isTransfer)
        case .voteReply(let granted): (kind, flag) = (.voteReply, granted)
        case .append(let previousIndex, let previousTerm, let commit, let list):
            (kind, index, indexTerm, commitIndex) = (.append, previousIndex, previousTerm, commit)
            entries = list.map(WiredEntry.init)
        case .appendAccepted(let match): (kind, index) = (.appendAccepted, match)
        case .appendRejected(let previousIndex, let hint, let hintTerm):
            (kind, index, hintIndex, indexTerm) = (.appendRejected, previousIndex, hint, hintTerm)
        case .heartbeat(let commit, let round): (kind, commitIndex, readRound) = (.heartbeat, commit, round)
        case .heartbeatReply(let round, let declines): (kind, readRound, flag) = (.heartbeatReply, round, declines)
        case .snapshot(let mark):
            (kind, index, indexTerm, membership) = (.snapshot, mark.index, mark.term, mark.membership.encoded())
        case .snapshotFailed(let at): (kind, index) = (.snapshotFailed, at)
        case .timeoutNow: kind = .timeoutNow
        case .higherTerm: kind = .higherTerm
        }
    }

    func message() throws(ChatError) -> RaftMessage {
        guard let group = UInt16(exactly: group) else { throw ChatError(.badParameter, "there is no group \(group)") }
        return RaftMessage(group: GroupID(group), from: from.server, to: to.server, term: term, body: try body())
    }

    private func body() throws(ChatError) -> RaftMessage.Body {
        switch kind {
        case .preVote: return .preVote(lastIndex: index, lastTerm: indexTerm, hasWaited: flag)
        case .preVoteReply: return .preVoteReply(granted: flag)
        case .vote: return .vote(lastIndex: index, lastTerm: indexTerm, isTransfer: flag)
        case .voteReply: return .voteReply(granted: flag)
        case .append:
            return .append(
                previousIndex: index, previousTerm: indexTerm, commitIndex: commitIndex, entries: entries.map(\.entry))
        case .appendAccepted: return .appendAccepted(matchIndex: index)
        case .appendRejected: return .appendRejected(previousIndex: index, hintIndex: hintIndex, hintTerm: indexTerm)
        case .heartbeat: return .heartbeat(commitIndex: commitIndex, readRound: readRound)
        case .heartbeatReply: return .heartbeatReply(readRound: readRound, declines: flag)
        case .snapshot:
            guard let membership = GroupMembership(decoding: membership) else {
                throw ChatError(.badParameter, "a snapshot without a membership")
            }
            return .snapshot(SnapshotMark(index: index, term: indexTerm, membership: membership))
        case .snapshotFailed: return .snapshotFailed(index: index)
        case .timeoutNow: return .timeoutNow
        case .higherTerm: return .higherTerm
        }
    }
}

private struct WiredServer: WireMessage {
    var server: ServerID

    init(_ server: ServerID) { self.server = server }

    static var blank: WiredServer { WiredServer(ServerID(node: "", store: 0)) }
    static var schemaName: String { "Server" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "node", &server.node, .nonEmptyBytes(64))
        try walker.shown(2, "store", &server.store)
    }
}

private struct WiredEntry: WireMessage {
    var entry: Entry

    init(_ entry: Entry) { self.entry = entry }

    static var blank: WiredEntry { WiredEntry(Entry(index: 0, term: 0, kind: .command, payload: [])) }
    static var schemaName: String { "ConsensusEntry" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "index", &entry.index)
        try walker.shown(2, "term", &entry.term)
        var kind = UInt32(entry.kind.rawValue)
        try walker.shown(3, "kind", &kind)
        if W.isDecoding {
            guard let known = UInt8(exactly: kind).flatMap(Entry.Kind.init(rawValue:)) else {
                throw ChatError(.badParameter, "there is no kind \(kind) of entry")
            }
            entry.kind = known
        }
        try walker.shown(4, "payload", &entry.payload)
    }
}
