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

extension RoomOutput {
    /// The shared frame in it, if it is one.
    package var sharedFrame: SharedFrame? {
        get {
            switch self {
            case .frame(let frame), .frameFor(_, let frame), .frameExcept(_, let frame): frame
            case .barrage(let frame, _): frame
            default: nil
            }
        }
        set {
            guard let newValue else { return }
            switch self {
            case .frame: self = .frame(newValue)
            case .frameFor(let sessions, _): self = .frameFor(sessions, newValue)
            case .frameExcept(let sessions, _): self = .frameExcept(sessions, newValue)
            case .barrage(_, let skipped): self = .barrage(newValue, skipped: skipped)
            default: break
            }
        }
    }

    /// The bytes that follow it as they are, if it has such.
    var content: SharedBody? {
        get {
            if case .missed(let missed?) = self { return missed.content }
            return sharedFrame.map { SharedBody(json: $0.json, protobuf: $0.protobuf) }
        }
        set {
            guard let newValue else { return }
            if case .missed(let missed?) = self {
                self = .missed(MissedMessages(after: missed.after, content: newValue))
            } else if var frame = sharedFrame {
                (frame.json, frame.protobuf) = (newValue.json, newValue.protobuf)
                sharedFrame = frame
            }
        }
    }

    /// Whether it has a frame that all viewers of the room are given.
    package var isSharedByAll: Bool {
        switch self {
        case .frame, .barrage(.some, _): true
        default: false
        }
    }

    /// The replacement of an output that is over the bound of a message; nil where nobody waits for it.
    var replacement: RoomOutput? {
        let error = ChatError(.tooLarge, "the answer is too large to be sent to this node")
        switch self {
        case .reply(let session, let request, _, let isRepeat, let charged):
            return .reply(session, request: request, .failure(error), isRepeat: isRepeat, charged: charged)
        case .entered(let session, let request, .success, _):
            return .entered(session, request: request, .failure(error))
        case .frame(let frame), .frameFor(_, let frame), .frameExcept(_, let frame):
            return frame.keptSeqs.map { .gap($0) }
        case .barrage(let frame?, let skipped): return .barrage(nil, skipped: skipped + frame.barrage)
        default: return nil
        }
    }
}

private struct WiredSession: WireMessage {
    var session: SessionID
    var request: UInt32?

    static var blank: WiredSession { WiredSession(session: .blank, request: nil) }
    static var schemaName: String { "SessionOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.optional(2, "request", &request)
    }
}

private struct WiredReply: WireMessage {
    var session: SessionID
    /// With the request as its ID.
    var item: ServerItem
    var isRepeat: Bool
    /// In the place of an item that has lists which may be empty.
    var enter: EnterReply?
    var request: UInt32
    var charged: UInt32 = 0

    static var blank: WiredReply {
        WiredReply(session: .blank, item: .unknown, isRepeat: false, enter: nil, request: 0)
    }
    static var schemaName: String { "ReplyOutput" }

    private init(session: SessionID, item: ServerItem, isRepeat: Bool, enter: EnterReply?, request: UInt32) {
        self.session = session
        self.item = item
        self.isRepeat = isRepeat
        self.enter = enter
        self.request = request
    }

    init?(_ output: RoomOutput) {
        guard case .reply(let session, let request, let result, let isRepeat, let charged) = output else { return nil }
        if case .success(.enter(let result)) = result {
            self.init(
                session: session, item: .unknown, isRepeat: isRepeat, enter: EnterReply(result), request: request)
        } else {
            self.init(
                session: session, item: .reply(id: request, result), isRepeat: isRepeat, enter: nil, request: request)
        }
        self.charged = UInt32(clamping: charged)
    }

    var output: RoomOutput {
        if let enter {
            return .reply(
                session, request: request, .success(.enter(enter.result)), isRepeat: isRepeat, charged: Int(charged))
        }
        guard case .reply(let request?, let result) = item else {
            let error = ChatError(.internal, "an answer of a later version")
            return .reply(session, request: request, .failure(error), isRepeat: isRepeat, charged: Int(charged))
        }
        return .reply(session, request: request, result, isRepeat: isRepeat, charged: Int(charged))
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.shown(2, "request", &request)
        try walker.shown(3, "repeat", &isRepeat)
        var reply: ServerItem? = enter == nil ? item : nil
        try walker.optional(4, "item", &reply)
        try walker.optional(5, "enter", &enter)
        try walker.defaulted(6, "charged", &charged, default: 0)
        if W.isDecoding { item = reply ?? .unknown }
    }
}

private struct WiredEntered: WireMessage {
    var session: SessionID
    var request: UInt32?
    var reply: EnterReply?
    var error: ChatError?
    var missedAfter: UInt64?

    static var blank: WiredEntered { WiredEntered(session: .blank) }
    static var schemaName: String { "EnteredOutput" }

    private init(session: SessionID) { self.session = session }

    init?(_ output: RoomOutput) {
        guard case .entered(let session, let request, let result, let missedAfter) = output else { return nil }
        self.session = session
        self.request = request
        self.missedAfter = missedAfter
        switch result {
        case .success(let result): reply = EnterReply(result)
        case .failure(let error): self.error = error
        }
    }

    var output: RoomOutput {
        let unknown = ChatError(.internal, "an answer of a later version")
        return .entered(
            session, request: request, reply.map { .success($0.result) } ?? .failure(error ?? unknown),
            missedAfter: missedAfter)
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.optional(2, "request", &request)
        try walker.optional(3, "result", &reply)
        try walker.optional(4, "error", &error)
        try walker.optional(5, "missedAfter", &missedAfter)
    }
}

/// Without the bytes.
private struct WiredMissed: WireMessage {
    /// nil: nothing that was said so far is referred to any more.
    var after: UInt64?
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

private struct WiredFollowing: WireMessage {
    var number: UInt64
    var through: UInt64

    static var blank: WiredFollowing { WiredFollowing(number: 0, through: 0) }
    static var schemaName: String { "FollowingOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "number", &number)
        try walker.shown(2, "through", &through)
    }
}

private struct WiredKick: WireMessage {
    var session: SessionID
    var reason: KickReason
    var ext: String?

    static var blank: WiredKick { WiredKick(session: .blank, reason: .blank, ext: nil) }
    static var schemaName: String { "KickedOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "reason", &reason)
        try walker.optional(3, "ext", &ext)
    }
}

private struct WiredProfile: WireMessage {
    var session: SessionID
    var profile: Profile

    static var blank: WiredProfile { WiredProfile(session: .blank, profile: Profile()) }
    static var schemaName: String { "ProfileOutput" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.required(2, "profile", &profile)
    }
}

/// Seqs without a hole.
private struct WiredSeqs: WireMessage {
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

extension SharedFrame.Traffic {
    /// On the wire.
    fileprivate var number: UInt32 {
        switch self {
        case .messages: 1
        case .barrage(.normal): 2
        case .status: 3
        case .barrage(.low): 4
        case .barrage(.high): 5
        case .totals: 6
        }
    }

    fileprivate init?(number: UInt32) {
        switch number {
        case 1: self = .messages
        case 2: self = .barrage(.normal)
        case 3: self = .status
        case 4: self = .barrage(.low)
        case 5: self = .barrage(.high)
        case 6: self = .totals
        default: return nil
        }
    }
}

/// The viewers that get a frame.
private enum Audience: String, WireEnum {
    case all = "ALL"
    case only = "ONLY"
    case except = "EXCEPT"
    /// All, as the end of a barrage window.
    case window = "WINDOW"

    static var blank: Audience { .all }

    var number: Int {
        switch self {
        case .all: 1
        case .only: 2
        case .except: 3
        case .window: 4
        }
    }
}

/// A shared frame without its bytes, and who is to get it.
private struct WiredFrame: WireMessage {
    var frame: SharedFrame
    var audience = Audience.all
    var sessions: [SessionID] = []
    var jsonBytes: UInt64?
    var protobufBytes: UInt64?
    /// Only for a barrage window.
    var skipped: Int64 = 0
    var body: WiredBodyReference?

    static var blank: WiredFrame { WiredFrame(SharedFrame(traffic: .messages, unkept: 0, barrage: 0)) }
    static var schemaName: String { "FrameOutput" }

    private init(_ frame: SharedFrame) {
        self.frame = frame
        jsonBytes = frame.json.map { UInt64($0.count) }
        protobufBytes = frame.protobuf.map { UInt64($0.count) }
    }

    init?(_ output: RoomOutput, _ reference: BodyReference?) {
        self.init(output)
        guard let reference else { return }
        (jsonBytes, protobufBytes) = (reference.jsonBytes, reference.protobufBytes)
        body = WiredBodyReference(name: reference.name, check: reference.check)
    }

    private init?(_ output: RoomOutput) {
        switch output {
        case .frame(let frame): self.init(frame)
        case .frameFor(let sessions, let frame):
            self.init(frame)
            (audience, self.sessions) = (.only, sessions)
        case .frameExcept(let sessions, let frame):
            self.init(frame)
            (audience, self.sessions) = (.except, sessions)
        case .barrage(let frame?, let skipped):
            self.init(frame)
            (audience, self.skipped) = (.window, Int64(skipped))
        default: return nil
        }
    }

    var reference: BodyReference? {
        body.map {
            BodyReference(name: $0.name, jsonBytes: jsonBytes, protobufBytes: protobufBytes, check: $0.check)
        }
    }

    var output: RoomOutput {
        switch audience {
        case .all: .frame(frame)
        case .only: .frameFor(sessions, frame)
        case .except: .frameExcept(sessions, frame)
        case .window: .barrage(frame, skipped: Int(clamping: skipped))
        }
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var traffic = frame.traffic.number
        var seqs = frame.keptSeqs.map(WiredSeqs.init)
        try walker.required(1, "traffic", &traffic)
        try walker.defaulted(2, "audience", &audience, default: .all)
        try walker.repeated(3, "sessions", &sessions)
        try walker.optional(4, "jsonBytes", &jsonBytes)
        try walker.optional(5, "protobufBytes", &protobufBytes)
        try walker.optional(6, "keptSeqs", &seqs)
        try walker.shown(7, "unkept", &frame.unkept)
        try walker.shown(8, "barrage", &frame.barrage)
        try walker.optional(9, "oldestTime", &frame.oldestTime)
        try walker.shown(10, "skipped", &skipped)
        try walker.optional(11, "body", &body)
        guard W.isDecoding else { return }
        guard let known = SharedFrame.Traffic(number: traffic) else {
            throw ChatError(.badParameter, "there is no traffic \(traffic)")
        }
        (frame.traffic, frame.keptSeqs) = (known, seqs?.seqs)
    }
}
