import ChatModel
import Wire

/// Messages that several sessions have missed who come back in one turn: encoded once, sent once to each lane, and put
/// into each one's reply as they are.
public struct MissedMessages: Sendable, Equatable {
    /// Up to this seq these sessions had everything.
    public var after: UInt64
    /// For nodes that must be told with each answer; empty where this was told.
    fileprivate let messages: [Message]
    /// As the reply's `missed` stands in it (`EnterResult.encodeMissed`); nil in an encoding that none of them uses.
    var content: SharedBody

    /// The bytes of the longer encoding.
    public var byteCount: Int { max(content.json?.count ?? 0, content.protobuf?.count ?? 0) }

    /// - Parameter encodings: of the sessions.
    public init(_ messages: [Message], after seq: UInt64, encodings: ClientEncodings) {
        func encoded(_ encoding: ClientEncoding) -> [UInt8]? {
            encodings.contains(ClientEncodings(encoding)) ? EnterResult.encodeMissed(messages, in: encoding) : nil
        }
        after = seq
        self.messages = messages
        content = SharedBody(json: encoded(.json), protobuf: encoded(.protobuf))
    }

    init(after seq: UInt64, content: SharedBody) {
        (after, self.content, messages) = (seq, content, [])
    }

    public static func == (a: MissedMessages, b: MissedMessages) -> Bool {
        a.after == b.after && a.content == b.content
    }

    /// For `EnterResult.appendReply`.
    public subscript(encoding: ClientEncoding) -> [UInt8]? {
        switch encoding {
        case .json: content.json
        case .protobuf: content.protobuf
        }
    }
}

extension NodePublication {
    /// The same for a node of a version that does not know `RoomOutput.takenOver`: such a node drops the link for it.
    public var withoutTakenOver: NodePublication {
        var known = self
        known.outputs.removeAll { if case .takenOver = $0.output { true } else { false } }
        return known
    }

    /// The same for a node of a version that knows only answers which have everything in them.
    /// - Parameter heard: what was said before and is still referred to, by room and lane.
    public func withMissedInAnswers(_ heard: inout [RoomID: [Int: [UInt64: MissedMessages]]]) -> NodePublication {
        var whole = self
        whole.outputs = outputs.compactMap { output in
            guard case .lane(let lane, let told) = output else { return output }
            switch told {
            case .missed(let missed):
                if let missed {
                    heard[room, default: [:]][lane, default: [:]][missed.after] = missed
                } else {
                    heard[room]?[lane] = nil
                    if heard[room]?.isEmpty == true { heard[room] = nil }
                }
                return nil
            case .entered(let session, let request, .success(var result), let after?):
                result.missed = heard[room]?[lane]?[after]?.messages ?? []
                return .lane(lane, .entered(session, request: request, .success(result)))
            default: return output
            }
        }
        return whole
    }
}
