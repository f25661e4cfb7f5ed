import ChatModel
import Wire

/// A shared frame without its bytes, and who is to get it.
struct WiredFrame: WireMessage {
    private var frame: SharedFrame
    private var audience = Audience.all
    private var sessions: [SessionID] = []
    var jsonBytes: UInt64?
    var protobufBytes: UInt64?
    /// Only for a barrage window.
    private var skipped: Int64 = 0
    private var body: WiredBodyReference?

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
        try walker.shown(12, "told", &frame.told)
        guard W.isDecoding else { return }
        guard let known = SharedFrame.Traffic(number: traffic) else {
            throw ChatError(.badParameter, "there is no traffic \(traffic)")
        }
        (frame.traffic, frame.keptSeqs) = (known, seqs?.seqs)
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
