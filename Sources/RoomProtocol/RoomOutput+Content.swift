import ChatModel

/// The frame, or the bytes, that an output carries.
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
