import ChatModel
import Wire

/// Messages that several sessions have missed who come back in one turn: encoded once, sent once to each lane, and put
/// into each one's reply as they are.
public struct MissedMessages: Sendable, Equatable {
    /// Up to this seq these sessions had everything.
    public var after: UInt64
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
        content = SharedBody(json: encoded(.json), protobuf: encoded(.protobuf))
    }

    init(after seq: UInt64, content: SharedBody) {
        (after, self.content) = (seq, content)
    }

    /// For `EnterResult.appendReply`.
    public subscript(encoding: ClientEncoding) -> [UInt8]? {
        switch encoding {
        case .json: content.json
        case .protobuf: content.protobuf
        }
    }
}
