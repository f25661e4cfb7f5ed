/// Reads the requests of one connection to an HTTP/1 server, one behind the other: incremental, strict and bounded, by the
/// same rules as the handshake on the client port (``HTTPUpgradeParser``).
public struct HTTPRequestDecoder: Sendable {
    public enum Event: Sendable, Hashable {
        /// A request begins. One whose framing is ``HTTPBodyFraming/none`` ends with this, too.
        case head(HTTPRequestHead, HTTPBodyFraming)
        /// These bytes are of its body, without what frames them.
        case body(Range<Int>)
        /// Its body is over.
        case end
        /// The input can't be read on: the connection is to be closed behind this answer.
        case refused(HTTPRefusal)
    }

    private enum State: Sendable {
        /// How many bytes of an empty line before the request have come (RFC 9112 §2.2).
        case empty(Int)
        case head
        case fixed(Int)
        case chunked(HTTPChunkedBody)
        case broken
    }

    private let rules: HTTPRequestHead.Rules
    private var buffer: HTTPHeadBuffer
    private var state = State.empty(0)

    private static let names: [StaticString] = ["host", "connection", "content-length", "transfer-encoding", "expect"]

    /// - Parameter names: the headers that are read besides those of HTTP itself, in lower case; each may come once.
    public init(names: [StaticString], limits: HTTPHeadLimits) {
        rules = HTTPRequestHead.Rules(
            names: Self.names + names,
            singles: Set(["host", "content-length", "expect"] + names.map { "\($0)" }), limits: limits,
            takesVersion10: true,
            // Routes decide what a target means; it divides no line.
            isTarget: { $0.allSatisfy { $0 > 0x20 } })
        buffer = HTTPHeadBuffer(limits: limits)
    }

    /// Whether a request has begun of which not all has come.
    public var isWithinRequest: Bool {
        if case .empty = state { false } else { true }
    }

    /// Reads on from `position` and moves it. `nil`: all bytes are read.
    public mutating func next(_ bytes: UnsafeRawBufferPointer, from position: inout Int) -> Event? {
        if case .fixed(0) = state { return end() }
        while position < bytes.count {
            switch state {
            case .broken:
                position = bytes.count
            case .empty(let count):
                guard bytes[position] == (count == 0 ? 0x0D : 0x0A), count < 2 else {
                    guard count != 1 else { return refuse(.badRequest) }
                    state = .head
                    continue
                }
                state = .empty(count + 1)
                position += 1
            case .head:
                guard let event = nextHead(bytes, from: &position) else { return nil }
                return event
            case .fixed(let left):
                let count = min(left, bytes.count - position)
                let range = position..<position + count
                position += count
                state = .fixed(left - count)
                return .body(range)
            case .chunked(var body):
                let event = body.next(bytes, from: &position)
                state = .chunked(body)
                switch event {
                case nil: return nil
                case .content(let range): return .body(range)
                case .end: return end()
                case .broken: return refuse(.badRequest)
                }
            }
        }
        return nil
    }

    private mutating func nextHead(_ bytes: UnsafeRawBufferPointer, from position: inout Int) -> Event? {
        let chunk = UnsafeRawBufferPointer(rebasing: bytes[position...])
        position = bytes.count
        switch buffer.take(chunk) {
        case .needsMore: return nil
        case .firstLineTooLong: return refuse(HTTPRefusal(status: 414, reason: "URI Too Long"))
        case .tooLong: return refuse(.headersTooLarge)
        case .head(let bytes, let rest):
            position -= rest
            do throws(HTTPRefusal) {
                let head = try HTTPRequestHead.read(bytes, by: rules)
                guard head.isVersion10 || head.header("host") != nil else { throw .badRequest }
                let framing = try HTTPBodyFraming.of(head)
                switch framing {
                case .none: state = .empty(0)
                case .fixed(let count): state = .fixed(count)
                case .chunked: state = .chunked(HTTPChunkedBody())
                }
                return .head(head, framing)
            } catch {
                return refuse(error)
            }
        }
    }

    private mutating func end() -> Event {
        state = .empty(0)
        return .end
    }

    private mutating func refuse(_ refusal: HTTPRefusal) -> Event {
        state = .broken
        return .refused(refusal)
    }
}
