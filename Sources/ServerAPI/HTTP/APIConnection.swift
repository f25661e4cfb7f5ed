import ChatModel
import EventLoop
import HTTPWebSocket
import Transport
import Wire

/// One connection of the server API: requests in, answers out, in order. It belongs to one loop.
///
/// One request is under way at a time: what a client has sent behind it waits in the socket, and in ``input`` what had
/// been read together with it. A body is read when the handler asks for it. A refused body is read on after the answer,
/// within a bound, because a connection that is closed on unread bytes loses the answer (RFC 9112, section 9.6).
///
/// Times: `headSeconds` from the first byte of a request (or the opening) to the end of its head, `bodySeconds` from
/// there to the end of its body, `unreadSeconds` for each piece of an answer, `idleSeconds` between two requests; then
/// it is cut.
final class APIConnection: ConnectionHandler {
    /// Bytes of a refused body that are still read.
    static let discardedBytesMax = 8 << 20
    /// An answer is handed to the socket in pieces of this size; each has `unreadSeconds`.
    private static let writtenBytesMax = 128 << 10

    /// A request that has begun and is not both read and answered.
    private final class Exchange {
        let body: APIRequestBody
        let head: HTTPRequestHead
        /// The rest of the body is wanted by the handler.
        var isBodyWanted = false
        var isBodyWhole: Bool
        /// The client waits for a word before it sends the body (RFC 9110 §10.1.1), and has not got it.
        var awaitsContinue: Bool
        var isAnswered = false
        var discardedBytes = 0
        var isLast: Bool
        var stream: APIResponseStream?
        /// Its time for the whole body; milliseconds of the loop.
        let bodyDeadline: UInt64

        init(_ head: HTTPRequestHead, _ body: APIRequestBody, isBodyWhole: Bool, isLast: Bool, bodyDeadline: UInt64) {
            (self.head, self.body, self.isBodyWhole, self.isLast) = (head, body, isBodyWhole, isLast)
            self.bodyDeadline = bodyDeadline
            awaitsContinue = !isBodyWhole && head.header("expect") != nil
        }

        var isHeadOnly: Bool { head.method == "HEAD" }
    }

    let number: UInt64
    private let tcp: TCPConnection
    /// Holds this connection until it is closed.
    private unowned let port: APIPort
    private var decoder: HTTPRequestDecoder
    private var input: [UInt8] = []
    private var exchange: Exchange?
    private var isReading = false
    private var isProcessing = false
    /// It ends when what is in `output` is written; nothing is read any more.
    private var isEnding = false
    private var output = Fifo<SharedBytes>()
    private var timer: LoopTimer?
    private var timerAt: UInt64 = 0
    private var inputDeadline: UInt64?
    private var outputDeadline: UInt64?

    init(_ tcp: TCPConnection, number: UInt64, port: APIPort) {
        self.tcp = tcp
        self.number = number
        self.port = port
        decoder = HTTPRequestDecoder(names: Self.names, limits: port.configuration.headLimits)
        inputDeadline = port.loop.nowMilliseconds + port.milliseconds(\.headSeconds)
        tcp.handler = self
        readOnOrWait()
    }

    private static let names: [StaticString] = [
        "authorization", "idempotency-key", "x-chatroom-key", "x-chatroom-time", "x-chatroom-nonce",
        "x-chatroom-signature", "accept-encoding", "if-none-match",
    ]

    // MARK: Input

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard !isEnding else { return }
        input.append(contentsOf: bytes)
        process()
    }

    /// Reads what has come as far as it may be read now.
    private func process() {
        guard !isProcessing else { return }
        isProcessing = true
        var position = 0
        while !isEnding, mayDecode {
            guard let event = input.withUnsafeBytes({ decoder.next($0, from: &position) }) else { break }
            switch event {
            case .head(let head, let framing): begin(head, framing)
            case .body(let range): take(range)
            case .end: endOfBody()
            case .refused(let refusal): refuse(refusal)
            }
        }
        input = isEnding || position == input.count ? [] : Array(input[position...])
        isProcessing = false
        // The first bytes of a head between two requests; those of the first of all have their time from the opening.
        let headDeadline = port.loop.nowMilliseconds + port.milliseconds(\.headSeconds)
        if exchange == nil, decoder.isWithinRequest, inputDeadline.map({ $0 > headDeadline }) ?? true {
            inputDeadline = headDeadline
        }
        readOnOrWait()
    }

    /// Not behind a request that is not answered; its body while it has room, or is thrown away.
    private var mayDecode: Bool {
        guard let exchange else { return true }
        guard !exchange.isBodyWhole else { return false }
        return exchange.isAnswered || exchange.body.hasRoom
    }

    private func begin(_ head: HTTPRequestHead, _ framing: HTTPBodyFraming) {
        guard head.header("expect").map({ $0.lowercased() == "100-continue" }) ?? true else {
            return refuse(HTTPRefusal(status: 417, reason: "Expectation Failed"))
        }
        let declaredBytes: Int? =
            switch framing {
            case .none: 0
            case .fixed(let count): count
            case .chunked: nil
            }
        let loop = port.loop
        let own = LoopBound(onLoop: self, loop: loop)
        let body = APIRequestBody(declaredBytes: declaredBytes, isWhole: framing == .none) {
            loop.execute { own.value.bodyIsWanted() }
        }
        let closes = head.headers.contains {
            $0.name == "connection" && $0.value.utf8.count <= 256 && $0.value.lowercased().contains("close")
        }
        let exchange = Exchange(
            head, body, isBodyWhole: framing == .none, isLast: closes || head.isVersion10,
            bodyDeadline: loop.nowMilliseconds + port.milliseconds(\.bodySeconds))
        self.exchange = exchange
        inputDeadline = framing == .none ? nil : exchange.bodyDeadline
        port.set(self, waits: framing != .none)
        port.answer(handlerHead(head), body) { [self] in answered(exchange, $0) }
    }

    private func handlerHead(_ head: HTTPRequestHead) -> APIHandler.Head {
        APIHandler.Head(
            // The answer of GET, without its body.
            method: head.method == "HEAD" ? "GET" : head.method, target: head.target,
            authorization: head.header("authorization"), idempotencyKey: head.header("idempotency-key"),
            address: tcp.remoteAddress, signature: Self.signature(in: head),
            acceptEncoding: head.header("accept-encoding"), ifNoneMatch: head.header("if-none-match"))
    }

    /// All four, or nothing.
    private static func signature(in head: HTTPRequestHead) -> APIHandler.SignatureHeaders? {
        guard let key = head.header("x-chatroom-key"), let time = head.header("x-chatroom-time"),
            let nonce = head.header("x-chatroom-nonce"), let signature = head.header("x-chatroom-signature")
        else { return nil }
        return APIHandler.SignatureHeaders(key: key, time: time, nonce: nonce, signature: signature)
    }

    private func take(_ range: Range<Int>) {
        guard let exchange else { return }
        // A caller that sends the body needs no word for it any more.
        exchange.awaitsContinue = false
        guard exchange.isAnswered else { return exchange.body.push(input[range]) }
        exchange.discardedBytes += range.count
        if exchange.discardedBytes > Self.discardedBytesMax { end() }
    }

    private func endOfBody() {
        guard let exchange else { return }
        exchange.isBodyWhole = true
        exchange.body.finish()
        inputDeadline = nil
        port.set(self, waits: exchange.isAnswered)
        finishIfDone()
    }

    /// The handler waits for more of the body.
    private func bodyIsWanted() {
        guard let exchange, !exchange.isBodyWhole, !isEnding else { return }
        exchange.isBodyWanted = true
        if exchange.awaitsContinue {
            exchange.awaitsContinue = false
            write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
        process()
    }

    private func readOnOrWait() {
        let reads =
            !isEnding
            && (exchange.map { !$0.isBodyWhole && ($0.isAnswered || $0.isBodyWanted && $0.body.hasRoom) } ?? true)
        if reads != isReading {
            isReading = reads
            if reads { tcp.startReading() } else if !isEnding { tcp.stopReading() }
        }
        setTimer()
    }

    // MARK: Output

    private func answered(_ exchange: Exchange, _ answer: APIResponse) {
        guard !isEnding, self.exchange === exchange else { return }
        if port.isDraining { exchange.isLast = true }
        // A body that can't be thrown away within the bound, or may never come, ends the connection.
        let isTooLong = (exchange.body.declaredBytes ?? 0) > Self.discardedBytesMax
        if !exchange.isBodyWhole, exchange.awaitsContinue || isTooLong { exchange.isLast = true }
        let delivery = APIResponse.Delivery(
            isLast: exchange.isLast, isHeadOnly: exchange.isHeadOnly, isVersion10: exchange.head.isVersion10,
            date: port.date())
        exchange.stream = exchange.isHeadOnly ? nil : answer.stream
        write(answer.bytes(delivery))
        writeNextPiece()
    }

    /// Goes on with a stream when all before it is written; otherwise the answer is over.
    private func writeNextPiece() {
        guard let exchange, !exchange.isAnswered, output.isEmpty, !tcp.isWriting else { return }
        guard let stream = exchange.stream else { return answerIsOver(exchange) }
        port.next(of: stream) { [self] piece in
            guard self.exchange === exchange, !isEnding else { return }
            guard let piece else { return tcp.close() }
            guard piece.isEmpty else {
                write(APIResponse.piece(piece, isVersion10: exchange.head.isVersion10))
                return writeNextPiece()
            }
            exchange.stream = nil
            if !exchange.head.isVersion10 { write(APIResponse.lastChunk) }
            writeNextPiece()
        }
    }

    private func answerIsOver(_ exchange: Exchange) {
        exchange.isAnswered = true
        finishIfDone()
        if !isProcessing { process() }
    }

    /// Ready for the next request once this one is read and answered.
    private func finishIfDone() {
        guard let exchange, exchange.isAnswered else { return }
        guard !exchange.isLast else { return end() }
        port.set(self, waits: true)
        guard exchange.isBodyWhole else { return }
        self.exchange = nil
        inputDeadline = port.loop.nowMilliseconds + port.milliseconds(\.idleSeconds)
    }

    private func refuse(_ refusal: HTTPRefusal) {
        var answer = APIResponse(ChatError(.malformed, "this is not a request that can be read: \(refusal.reason)"))
        answer.status = refusal.status
        port.countRefusal(status: refusal.status)
        write(
            answer.bytes(
                APIResponse.Delivery(isLast: true, isHeadOnly: false, isVersion10: false, date: port.date())))
        exchange?.body.fail()
        end()
    }

    private func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            output.append(SharedBytes(copying: rest.prefix(Self.writtenBytesMax)))
            rest = rest.dropFirst(Self.writtenBytesMax)
        }
        flush()
    }

    private func flush() {
        while let first = output.first, !tcp.isWriting {
            output.removeFirst()
            let count = tcp.tryWrite(first)
            if count < first.count { tcp.write(first, from: count) }
        }
        // TLS has taken all that it has sealed, though some of it may still wait for the client.
        if tcp.isWriting, outputDeadline == nil {
            outputDeadline = port.loop.nowMilliseconds + port.milliseconds(\.unreadSeconds)
            // From here on the client is waited for, as where it does not send.
            port.set(self, waits: true)
        }
        setTimer()
    }

    func connectionDidDrain(_ connection: TCPConnection) {
        outputDeadline = nil
        flush()
        guard output.isEmpty, !tcp.isWriting else { return }
        if exchange?.isAnswered == false { port.set(self, waits: false) }
        if isEnding { tcp.shutdownThenClose() } else { writeNextPiece() }
    }

    // MARK: The end

    /// Ends the connection when what is on its way has been written.
    private func end() {
        guard !isEnding else { return }
        isEnding = true
        inputDeadline = nil
        port.set(self, waits: true)
        if output.isEmpty, !tcp.isWriting { tcp.shutdownThenClose() } else { tcp.stopReading() }
        isReading = false
        setTimer()
    }

    /// The port closes: an idle connection ends now, another one behind its answer.
    func drain() {
        if let exchange { exchange.isLast = true } else { end() }
    }

    /// Ends it now.
    func cut() { tcp.close() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        timer?.cancel()
        timer = nil
        isEnding = true
        exchange?.body.fail()
        exchange = nil
        output = Fifo()
        port.remove(self)
    }

    /// One timer, which is set anew only when a time has become shorter, or has been reached.
    private func setTimer() {
        guard let next = [inputDeadline, outputDeadline].compactMap({ $0 }).min(), timer == nil || next < timerAt else {
            return
        }
        timer?.cancel()
        timerAt = next
        let now = port.loop.nowMilliseconds
        timer = port.loop.schedule(afterMilliseconds: next > now ? next - now : 0) { [unowned self] in
            timer = nil
            let now = port.loop.nowMilliseconds
            let isLate = [inputDeadline, outputDeadline].contains { $0.map { $0 <= now } ?? false }
            if isLate { cut() } else { setTimer() }
        }
    }
}
