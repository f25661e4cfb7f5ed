import ChatModel
import Wire

/// Reads the payloads of one lane of one connection to another node, in the order in which they came.
public struct NodePayloadReader: Sendable {
    private var parts = PayloadParts()

    public init() {}

    /// The message of a payload; nil when more parts of it are to come.
    /// - Throws: `malformed` for what no node says, `tooLarge`. The connection is of no use then.
    public mutating func read(_ payload: [UInt8]) throws(NodeMessageError) -> NodeMessage? {
        guard payload.first == NodePayload.Kind.part.rawValue else { return try Self.message(in: payload) }
        guard let whole = try parts.append(payload) else { return nil }
        guard whole.first != NodePayload.Kind.part.rawValue else {
            throw NodeMessageError(.malformed, "a part of a part")
        }
        return try Self.message(in: whole)
    }

    private static func message(in payload: [UInt8]) throws(NodeMessageError) -> NodeMessage {
        guard let kind = payload.first.flatMap(NodePayload.Kind.init) else {
            throw NodeMessageError(.malformed, "a payload of no known kind")
        }
        return try payload.withUnsafeBufferPointer { buffer throws(NodeMessageError) in
            var cursor = PayloadCursor(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer).dropFirst()))
            switch kind {
            case .requests:
                var requests: [RoomRequest] = []
                while !cursor.isAtEnd { requests.append(try cursor.delimited(WiredRequest.self).request) }
                return .requests(requests)
            case .answers:
                var answers: [ServerAnswer] = []
                while !cursor.isAtEnd { answers.append(try cursor.delimited(WiredServerAnswer.self).answer) }
                return .answers(answers)
            case .leads:
                var notices: [ShardNotice] = []
                while !cursor.isAtEnd { notices.append(try cursor.delimited(WiredNotice.self).notice) }
                return .leads(notices)
            case .publications: return try publications(&cursor)
            case .question:
                let wired = try cursor.rest(WiredQuestion.self)
                return .question(id: wired.id, wired.question)
            case .answer:
                let wired = try cursor.rest(WiredAnswer.self)
                return .answer(id: wired.id, wired.result)
            case .body:
                var body = try cursor.delimited(WiredBody.self)
                body.body.body.json = try cursor.bytes(body.jsonBytes)
                body.body.body.protobuf = try cursor.bytes(body.protobufBytes)
                guard cursor.isAtEnd else { throw NodeMessageError(.malformed, "a body with more bytes than it says") }
                return .body(body.body)
            case .bodyRequest: return .bodyRequest(try cursor.rest(WiredBodyNames.self).names)
            case .bodiesGone: return .bodiesGone(try cursor.rest(WiredBodyNames.self).names)
            case .pulses:
                var pulses: [ShardPulse] = []
                while !cursor.isAtEnd { pulses.append(try cursor.delimited(WiredPulse.self).pulse) }
                return .pulses(pulses)
            case .tallyRequest: return .tallyRequest(try cursor.rest(WiredTallyRequest.self).request)
            case .tallies: return .tallies(try cursor.rest(WiredTallies.self).tallies)
            case .recount: return .recount(try cursor.rest(WiredRecount.self).recount)
            case .uses:
                var uses: [UserUse] = []
                while !cursor.isAtEnd {
                    guard uses.count < UserUse.usersMax else {
                        throw NodeMessageError(.tooLarge, "what more than \(UserUse.usersMax) users have used")
                    }
                    uses.append(try cursor.delimited(WiredUse.self).use)
                }
                return .uses(uses)
            case .takenOver:
                var sessions: [TakenSession] = []
                while !cursor.isAtEnd { sessions.append(try cursor.delimited(TakenSession.self)) }
                return .takenOver(sessions)
            case .presence: return .presence(try cursor.rest(WiredPresence.self).update)
            case .part: throw NodeMessageError(.malformed, "a part of a part")
            }
        }
    }

    private static func publications(_ cursor: inout PayloadCursor) throws(NodeMessageError) -> NodeMessage {
        var publications: [NodePublication] = []
        var current: NodePublication?
        while !cursor.isAtEnd {
            var wired = try cursor.delimited(WiredOutput.self)
            if wired.body == nil, wired.output.content != nil {
                let json = try cursor.bytes(wired.jsonBytes)
                wired.output.content = SharedBody(json: json, protobuf: try cursor.bytes(wired.protobufBytes))
            }
            if let begun = wired.begun {
                if let current { publications.append(current) }
                current = begun
            }
            guard current != nil else { throw NodeMessageError(.malformed, "an output of no room") }
            current?.outputs.append(try wired.published)
        }
        if let current { publications.append(current) }
        return .publications(publications)
    }
}

/// Walks through a payload, which must stay where it is meanwhile.
private struct PayloadCursor {
    private let content: UnsafeRawBufferPointer
    private var position = 0

    init(_ content: UnsafeRawBufferPointer) { self.content = content }

    var isAtEnd: Bool { position >= content.count }

    mutating func varint() throws(NodeMessageError) -> UInt64 {
        guard let number = Varint.read(content, at: &position) else {
            throw NodeMessageError(.malformed, "a payload that ends in the middle of a number")
        }
        return number
    }

    private mutating func take(_ count: UInt64) throws(NodeMessageError) -> UnsafeRawBufferPointer {
        guard count <= UInt64(content.count - position) else {
            throw NodeMessageError(.malformed, "a payload that ends in the middle of a message")
        }
        let start = position
        position += Int(truncatingIfNeeded: count)
        return UnsafeRawBufferPointer(rebasing: content[start..<position])
    }

    /// - Parameter count: nil for what is not there.
    mutating func bytes(_ count: UInt64?) throws(NodeMessageError) -> [UInt8]? {
        guard let count else { return nil }
        return [UInt8](try take(count))
    }

    mutating func delimited<M: WireMessage>(_ type: M.Type) throws(NodeMessageError) -> M {
        try Self.message(type, take(varint()))
    }

    /// The rest, as one message.
    mutating func rest<M: WireMessage>(_ type: M.Type) throws(NodeMessageError) -> M {
        try Self.message(type, take(UInt64(content.count - position)))
    }

    /// Limits were enforced where a client or the app server said it.
    private static func message<M: WireMessage>(_ type: M.Type, _ bytes: UnsafeRawBufferPointer)
        throws(NodeMessageError) -> M
    {
        do throws(ChatError) {
            return try WireProtobuf.decode(type, from: bytes, limits: false)
        } catch {
            throw NodeMessageError(.malformed, "\(M.schemaName): \(error.message)")
        }
    }
}
