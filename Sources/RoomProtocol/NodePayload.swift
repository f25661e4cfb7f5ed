import ChatModel
import Wire

/// Payloads of the link's frames that carry `NodeMessage`s.
///
/// The first byte says what follows. Requests, answers, notices, pulses and uses follow one behind the other, each behind its
/// length as a varint. Publications are their outputs, each behind its length, and behind an output that is a shared
/// frame, or what many have missed, its bytes, as they are, unless they come by other nodes. A body is what is said of
/// it, behind its length, and its bytes. Questions and answers are one message each, and so are lists of bodies. A
/// message that does not fit in one payload goes in parts.
public enum NodePayload {
    /// The most bytes of one payload: what a frame of the link's lanes for calls and publications holds.
    public static let bytesMax = 4 << 20
    /// Payloads of about this size are made, so that nothing urgent waits long; a single thing may be bigger.
    static let bytesWanted = 256 << 10
    /// The most bytes of one call, output, question or answer. Longer messages are not sent: in the place of an answer
    /// to a session or a node goes an error, in the place of kept messages a gap; other things of this size don't
    /// exist.
    public static let messageBytesMax = 16 << 20

    /// The kind of content behind the first byte. Numbers are on the wire.
    enum Kind: UInt8 {
        case leads = 3
        case question = 4
        case answer = 5
        /// A part of a payload: the check of the whole (8 bytes), its length and where the part belongs (4 bytes each,
        /// all little-endian), and the bytes.
        case part = 6
        /// 2 were publications to one lane.
        case publications = 7
        case body = 8
        case bodyRequest = 9
        case bodiesGone = 10
        case pulses = 11
        case tallyRequest = 12
        case tallies = 13
        case recount = 14
        case uses = 15
        case answers = 16
        /// 1 were calls, in another form.
        case requests = 17
        case takenOver = 18
        case presence = 19
    }

    /// The message in as many payloads as it takes, in order; none for an empty list. The payloads of one message must
    /// stay in their order, others may come between them.
    public static func payloads(of message: NodeMessage) -> [[UInt8]] {
        switch message {
        case .requests(let requests):
            var writer = PayloadWriter([Kind.requests.rawValue])
            for request in requests { writer.append { WireProtobuf.appendDelimited(WiredRequest(request), to: &$0) } }
            return writer.finish()
        case .answers(let answers):
            var writer = PayloadWriter([Kind.answers.rawValue])
            for answer in answers where !writer.append({ append(WiredServerAnswer(answer), to: &$0) }) {
                writer.append { append(WiredServerAnswer(answer.tooLarge), to: &$0) }
            }
            return writer.finish()
        case .leads(let notices):
            var writer = PayloadWriter([Kind.leads.rawValue])
            for notice in notices { writer.append { WireProtobuf.appendDelimited(WiredNotice(notice), to: &$0) } }
            return writer.finish()
        case .publications(let publications):
            return payloads(of: publications)
        case .question(let id, let question):
            return single(.question, WiredQuestion(id: id, question: question)) ?? []
        case .answer(let id, let result):
            return single(.answer, WiredAnswer(id: id, result: result))
                ?? single(.answer, WiredAnswer(id: id, result: .failure(.answerTooLarge))) ?? []
        case .body(let body):
            var writer = PayloadWriter([Kind.body.rawValue])
            writer.reserve(body.body.byteCount)
            writer.append { bytes in
                WireProtobuf.appendDelimited(WiredBody(body), to: &bytes)
                append(body.body.json, body.body.protobuf, to: &bytes)
            }
            return writer.finish()
        case .bodyRequest(let names): return single(.bodyRequest, WiredBodyNames(names: names)) ?? []
        case .bodiesGone(let names): return single(.bodiesGone, WiredBodyNames(names: names)) ?? []
        case .pulses(let pulses):
            var writer = PayloadWriter([Kind.pulses.rawValue])
            for pulse in pulses { writer.append { WireProtobuf.appendDelimited(WiredPulse(pulse), to: &$0) } }
            return writer.finish()
        case .tallyRequest(let request): return single(.tallyRequest, WiredTallyRequest(request)) ?? []
        case .tallies(let tallies): return single(.tallies, WiredTallies(tallies)) ?? []
        case .recount(let recount): return single(.recount, WiredRecount(recount)) ?? []
        case .uses(let uses):
            var writer = PayloadWriter([Kind.uses.rawValue])
            for use in uses { writer.append { WireProtobuf.appendDelimited(WiredUse(use), to: &$0) } }
            return writer.finish()
        case .takenOver(let sessions):
            var writer = PayloadWriter([Kind.takenOver.rawValue])
            for session in sessions { writer.append { WireProtobuf.appendDelimited(session, to: &$0) } }
            return writer.finish()
        case .presence(let update): return single(.presence, WiredPresence(update)) ?? []
        }
    }

    private static func payloads(of publications: [NodePublication]) -> [[UInt8]] {
        var writer = PayloadWriter([Kind.publications.rawValue])
        var contentLeft = 0
        for publication in publications {
            for output in publication.outputs { contentLeft += output.output.contentByteCount }
        }
        for publication in publications {
            var isFirst = true
            for output in publication.outputs {
                writer.reserve(contentLeft)
                contentLeft -= output.output.contentByteCount
                var lane: UInt32?
                var body: BodyReference?
                switch output {
                case .all: break
                case .lane(let number, _): lane = UInt32(clamping: number)
                case .shared(_, let reference): body = reference
                }
                func append(_ output: RoomOutput) -> Bool {
                    writer.append { bytes, isPayloadNew in
                        var wired = WiredOutput(output)
                        (wired.lane, wired.body) = (lane, body)
                        if isFirst || isPayloadNew { wired.begin(publication) }
                        Self.append(wired, to: &bytes)
                    }
                }
                if append(output.output) || output.output.replacement.map(append) ?? false { isFirst = false }
            }
        }
        return writer.finish()
    }

    private static func append(_ answer: WiredServerAnswer, to bytes: inout [UInt8]) {
        WireProtobuf.appendDelimited(answer, to: &bytes)
    }

    private static func append(_ wired: WiredOutput, to bytes: inout [UInt8]) {
        WireProtobuf.appendDelimited(wired, to: &bytes)
        guard let content = wired.output.content else { return }
        append(content.json, content.protobuf, to: &bytes)
    }

    private static func append(_ json: [UInt8]?, _ protobuf: [UInt8]?, to bytes: inout [UInt8]) {
        if let json { bytes.append(contentsOf: json) }
        if let protobuf { bytes.append(contentsOf: protobuf) }
    }

    /// nil when it is over `messageBytesMax`.
    private static func single<M: WireMessage>(_ kind: Kind, _ message: M) -> [[UInt8]]? {
        var writer = PayloadWriter([kind.rawValue])
        guard writer.append({ $0 += WireProtobuf.encode(message) }) else { return nil }
        return writer.finish()
    }
}

extension ChatError {
    fileprivate static let answerTooLarge = ChatError(.tooLarge, "the answer is too large to be sent to this node")
}

extension ServerAnswer {
    /// In the place of an answer that no message has room for.
    fileprivate var tooLarge: ServerAnswer {
        var answer = self
        answer.outcome = .answered(.failure(.answerTooLarge))
        return answer
    }
}

extension RoomOutput {
    /// The bytes that follow it as they are, in all encodings.
    fileprivate var contentByteCount: Int { content?.byteCount ?? 0 }
}

/// Fills payloads with things that are not divided, except into parts.
private struct PayloadWriter {
    /// The bytes that every payload begins with.
    private let head: [UInt8]
    private var done: [[UInt8]] = []
    private var current: [UInt8]

    init(_ head: [UInt8]) {
        self.head = head
        current = head
    }

    /// Makes room for what is known to come, as far as it goes into this payload.
    mutating func reserve(_ count: Int) {
        guard current.count == head.count else { return }
        current.reserveCapacity(min(count, NodePayload.bytesWanted) + 4096)
    }

    /// Appends one thing, behind the others if it fits there.
    /// - Returns: false for what is over the bound of a message, and is not there then.
    @discardableResult
    mutating func append(_ write: (inout [UInt8]) -> Void) -> Bool { append { bytes, _ in write(&bytes) } }

    /// - Parameter write: called again for a new payload when the thing did not fit behind the others.
    @discardableResult
    mutating func append(_ write: (_ bytes: inout [UInt8], _ isPayloadNew: Bool) -> Void) -> Bool {
        let start = current.count
        write(&current, start == head.count)
        if start > head.count, current.count > NodePayload.bytesWanted {
            current.removeSubrange(start...)
            done.append(current)
            current = head
            write(&current, true)
        }
        guard current.count <= NodePayload.messageBytesMax else {
            current = head
            return false
        }
        if current.count > NodePayload.bytesMax {
            done += PayloadParts.parts(of: current)
            current = head
        } else if current.count > NodePayload.bytesWanted {
            done.append(current)
            current = head
        }
        return true
    }

    consuming func finish() -> [[UInt8]] { current.count > head.count ? done + [current] : done }
}
