import ChatModel
import Wire

/// A window's barrage as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredBatch: WireMessage {
    var batch: BarrageBatch

    init(_ batch: BarrageBatch) { self.batch = batch }

    static var blank: WiredBatch { WiredBatch(BarrageBatch(window: 0, candidates: [], leftOut: 0)) }
    static var schemaName: String { "BarrageBatch" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var candidates = batch.candidates.map(WiredCandidate.init)
        try walker.shown(1, "window", &batch.window)
        try walker.repeated(2, "candidates", &candidates)
        try walker.shown(3, "leftOut", &batch.leftOut)
        if W.isDecoding { batch.candidates = candidates.map(\.candidate) }
    }
}

private struct WiredCandidate: WireMessage {
    var candidate: BarrageCandidate

    init(_ candidate: BarrageCandidate) { self.candidate = candidate }

    static var blank: WiredCandidate { WiredCandidate(BarrageCandidate(sender: .blank, text: "", hash: 0)) }
    static var schemaName: String { "BarrageCandidate" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "sender", &candidate.sender)
        try walker.required(2, "text", &candidate.text)
        try walker.optional(3, "ext", &candidate.ext)
        try walker.optional(4, "style", &candidate.style)
        try walker.defaulted(5, "priority", &candidate.priority, default: .normal)
        try walker.defaulted(6, "count", &candidate.count, default: 1)
        try walker.shown(7, "hash", &candidate.hash)
    }
}

/// The leader's receipt for a window, as it travels.
struct WiredReceipt: WireMessage {
    var window: UInt64
    var shown: [UInt32]

    static var blank: WiredReceipt { WiredReceipt(window: 0, shown: []) }
    static var schemaName: String { "BarrageReceipt" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "window", &window)
        try walker.repeated(2, "shown", &shown)
    }
}

/// The end of a window that shows nothing.
struct WiredSkipped: WireMessage {
    var skipped: Int64

    static var blank: WiredSkipped { WiredSkipped(skipped: 0) }
    static var schemaName: String { "BarrageSkipped" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "skipped", &skipped)
    }
}

struct WiredEcho: WireMessage {
    var session: SessionID
    var items: [BarrageItem]

    static var blank: WiredEcho { WiredEcho(session: .blank, items: []) }
    static var schemaName: String { "BarrageEcho" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.repeated(2, "items", &items)
    }
}

struct WiredVoice: WireMessage {
    var session: SessionID
    var voice: Voice

    static var blank: WiredVoice { WiredVoice(session: .blank, voice: Voice(role: .guest)) }
    static var schemaName: String { "Voice" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "role", &voice.role)
        try walker.optional(3, "mutedUntil", &voice.mutedUntil)
        var number = voice.incarnation?.number
        try walker.optional(4, "incarnation", &number)
        if W.isDecoding { voice.incarnation = number.map { Incarnation($0) } }
    }
}

struct WiredSilence: WireMessage {
    var isMuted: Bool

    static var blank: WiredSilence { WiredSilence(isMuted: false) }
    static var schemaName: String { "Silence" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "muted", &isMuted)
    }
}
