import ChatModel
import Wire

/// One output as it travels, with its publication's room, term and lanes where it begins one. It has only the lengths
/// of a shared frame, whose bytes follow as they are. Numbers are on the wire: they are never changed or used again.
struct WiredOutput: WireMessage {
    /// nil: of the publication before it.
    var room: RoomID?
    var term: UInt64 = 0
    /// The lanes of the publication.
    var lanes: [UInt32] = []
    /// For which lane alone it is; nil: for all of the publication.
    var lane: UInt32?
    /// A frame that was read has no bytes yet.
    var output: RoomOutput
    /// How many bytes of the frame, or of what was missed, follow in JSON and in protobuf; nil: it has none in that
    /// encoding.
    var jsonBytes: UInt64?
    var protobufBytes: UInt64?
    /// The name that stands in the place of the frame's bytes, none of which follow then.
    var body: BodyReference?

    init(_ output: RoomOutput) { self.output = output }

    /// It is the first of this publication.
    mutating func begin(_ publication: NodePublication) {
        room = publication.room
        term = publication.term
        lanes = publication.lanes.map { UInt32(clamping: $0) }
    }

    /// The publication that it begins; nil when it is of the one before.
    var begun: NodePublication? {
        room.map { NodePublication(room: $0, term: term, lanes: lanes.map { Int($0) }, outputs: []) }
    }

    var published: NodePublication.Output {
        get throws(NodeMessageError) {
            guard let body else { return lane.map { .lane(Int($0), output) } ?? .all(output) }
            guard lane == nil, output.isSharedByAll else {
                throw NodeMessageError(.malformed, "a body that is not for all")
            }
            return .shared(output, body)
        }
    }

    static var blank: WiredOutput { WiredOutput(.exited(.blank, request: nil)) }
    static var schemaName: String { "RoomOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "room", &room)
        try walker.shown(2, "term", &term)
        try walker.repeated(3, "lanes", &lanes)
        try walker.optional(4, "lane", &lane)
        let current = output
        var read: RoomOutput?
        var frame: WiredFrame?
        let hasReply = try walker.choice(10, "reply", { WiredReply(current) }, { it in read = it.output })
        // One is there, and nearly all are replies and frames: they do not pay for the others.
        if hasReply, !W.describesSchema { return try take(read, frame, W.self) }
        try walker.choice(
            11, "entered", { WiredEntered(current) }, { it in read = it.output })
        try walker.choice(
            12, "exited",
            {
                if case .exited(let session, let request) = current {
                    WiredSession(session: session, request: request)
                } else {
                    nil
                }
            }, { read = .exited($0.session, request: $0.request) })
        try walker.choice(
            13, "kicked",
            {
                if case .kicked(let session, let reason, let ext) = current {
                    WiredKick(session: session, reason: reason, ext: ext)
                } else {
                    nil
                }
            }, { read = .kicked($0.session, $0.reason, ext: $0.ext) })
        let body = body
        let hasFrame = try walker.choice(14, "frame", { WiredFrame(current, body) }, { frame = $0 })
        if hasFrame, !W.describesSchema { return try take(read, frame, W.self) }
        try walker.choice(
            15, "retry",
            {
                if case .retry(let session, let request) = current {
                    WiredSession(session: session, request: request)
                } else {
                    nil
                }
            }, { read = .retry($0.session, request: $0.request ?? 0) })
        try walker.choice(
            16, "profile",
            {
                if case .profile(let session, let profile) = current {
                    WiredProfile(session: session, profile: profile)
                } else {
                    nil
                }
            }, { read = .profile($0.session, $0.profile) })
        try walker.choice(
            17, "gap", { if case .gap(let seqs) = current { WiredSeqs(seqs) } else { nil } },
            { read = .gap($0.seqs) })
        if let barrage = try walkBarrage(&walker, current) { read = barrage }
        try walker.choice(
            30, "following",
            {
                if case .following(let number, let seq) = current {
                    WiredFollowing(number: number, through: seq)
                } else {
                    nil
                }
            }, { read = .following($0.number, through: $0.through) })
        try walker.choice(
            31, "missed", { WiredMissed(current) },
            { it in
                read = .missed(it.missed)
                (jsonBytes, protobufBytes) = (it.jsonBytes, it.protobufBytes)
            })
        try walker.choice(
            32, "takenOver",
            { if case .takenOver(let taken) = current { taken } else { nil } }, { read = .takenOver($0) })
        try walker.choice(33, "taps", { WiredTaps(current) }, { it in read = it.output })
        try take(read, frame, W.self)
    }

    private mutating func take<W: FieldWalker>(
        _ read: RoomOutput?, _ frame: WiredFrame?, _: W.Type
    ) throws(ChatError) {
        guard W.isDecoding else { return }
        if let frame {
            (jsonBytes, protobufBytes, self.body) = (frame.jsonBytes, frame.protobufBytes, frame.reference)
            output = frame.output
        } else if let read {
            output = read
        } else {
            throw ChatError(.badParameter, "an output that says nothing")
        }
    }
}

extension WiredOutput {
    /// Walks the fields of barrage.
    fileprivate func walkBarrage<W: FieldWalker>(_ walker: inout W, _ current: RoomOutput) throws(ChatError)
        -> RoomOutput?
    {
        var output: RoomOutput?
        try walker.choice(
            18, "voice",
            {
                if case .voice(let session, let voice) = current {
                    WiredVoice(session: session, voice: voice)
                } else {
                    nil
                }
            }, { output = .voice($0.session, $0.voice) })
        try walker.choice(
            19, "silence", { if case .silence(let isMuted) = current { WiredSilence(isMuted: isMuted) } else { nil } },
            { output = .silence($0.isMuted) })
        try walker.choice(
            20, "barrageReceipt",
            {
                if case .barrageReceipt(let window, let shown) = current {
                    WiredReceipt(window: window, shown: shown)
                } else {
                    nil
                }
            }, { output = .barrageReceipt(window: $0.window, shown: $0.shown) })
        try walker.choice(
            21, "barrageEcho",
            {
                if case .barrageEcho(let session, let items) = current {
                    WiredEcho(session: session, items: items)
                } else {
                    nil
                }
            }, { output = .barrageEcho($0.session, $0.items) })
        try walker.choice(
            22, "barrageSkipped",
            {
                if case .barrage(nil, let skipped) = current {
                    WiredSkipped(skipped: Int64(skipped))
                } else {
                    nil
                }
            }, { output = .barrage(nil, skipped: Int(clamping: $0.skipped)) })
        return output
    }
}
