import ChatModel
import Wire

/// Without the bytes.
struct WiredMissed: WireMessage {
    /// nil: nothing that was said so far is referred to any more.
    private var after: UInt64?
    var jsonBytes: UInt64?
    var protobufBytes: UInt64?

    static var blank: WiredMissed { WiredMissed() }
    static var schemaName: String { "MissedOutput" }

    private init() {}

    init?(_ output: RoomOutput) {
        guard case .missed(let missed) = output else { return nil }
        after = missed?.after
        jsonBytes = missed?.content.json.map { UInt64($0.count) }
        protobufBytes = missed?.content.protobuf.map { UInt64($0.count) }
    }

    var missed: MissedMessages? {
        after.map { MissedMessages(after: $0, content: SharedBody(json: nil, protobuf: nil)) }
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "after", &after)
        try walker.optional(2, "jsonBytes", &jsonBytes)
        try walker.optional(3, "protobufBytes", &protobufBytes)
    }
}

struct WiredFollowing: WireMessage {
    var number: UInt64
    var through: UInt64

    static var blank: WiredFollowing { WiredFollowing(number: 0, through: 0) }
    static var schemaName: String { "FollowingOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "number", &number)
        try walker.shown(2, "through", &through)
    }
}

/// Seqs without a hole.
struct WiredSeqs: WireMessage {
    var seqs: ClosedRange<UInt64>

    init(_ seqs: ClosedRange<UInt64>) { self.seqs = seqs }

    static var blank: WiredSeqs { WiredSeqs(0...0) }
    static var schemaName: String { "Seqs" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (first, last) = (seqs.lowerBound, seqs.upperBound)
        try walker.shown(1, "first", &first)
        try walker.shown(2, "last", &last)
        guard W.isDecoding else { return }
        guard first <= last else { throw ChatError(.badParameter, "seqs from \(first) to \(last)") }
        seqs = first...last
    }
}
