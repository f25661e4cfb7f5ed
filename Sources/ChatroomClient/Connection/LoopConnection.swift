#if !canImport(Darwin)
    import ChatModel
    internal import Deflate
    internal import EventLoop
    internal import HTTPWebSocket
    internal import TLS
    internal import Transport
    import Wire

    /// The part of a ``LoopSocket`` that runs on the loop: performs the handshake, answers pings, and puts what comes into
    /// the mailbox.
    final class LoopConnection: ConnectionHandler {
        private enum Phase {
            /// TCP is being connected. Next: handshake, ended.
            case connecting
            /// The response to the handshake is awaited. Next: open, ended.
            case handshake(WebSocketClientHandshake)
            /// Next: ended.
            case open
            /// `closed` was told, or nobody wants to hear of it.
            case ended
        }

        private let address: GatewayAddress
        private let tls: TLSContext?
        private let mailbox: SocketMailbox
        private var phase = Phase.connecting
        private var tcp: TCPConnection?
        private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: SocketEvent.messageBytesMax)
        /// nil when nothing comes compressed.
        private var inflater: Inflater?
        /// Frames that wait for the system, in order. Frames that the client waits for have a bound, and the rest is
        /// dropped there (`Line`); pongs are bounded by ``pongsMax``.
        private var waiting = Fifo<Outgoing>()
        /// The system has a part of the first of them.
        private var isHeadWriting = false
        /// The farewell is the last of them.
        private var isLeaving = false
        private var pongs = 0
        private var loop: EventLoop?

        private struct Outgoing {
            var bytes: SharedBytes
            var whenSent: (@Sendable () -> Void)?
        }

        init(_ address: GatewayAddress, _ tls: TLSContext?, _ mailbox: SocketMailbox) {
            self.address = address
            self.tls = tls
            self.mailbox = mailbox
        }

        // MARK: - From the client

        func open(_ loop: EventLoop, _ output: TLSOutput, connectMilliseconds: UInt64) {
            guard case .connecting = phase else { return }
            self.loop = loop
            TCPConnection.connect(
                loop: loop, host: address.host, port: address.port, timeoutMilliseconds: connectMilliseconds
            ) { [self] result in
                switch result {
                case .success(let tcp): connected(tcp, output)
                case .failure(let error): end("\(error)")
                }
            }
        }

        private func connected(_ tcp: TCPConnection, _ output: TLSOutput) {
            guard case .connecting = phase else { return tcp.close() }
            self.tcp = tcp
            tcp.handler = self
            do throws(TLSError) {
                if let tls { try tcp.secure(with: tls, output: output) }
            } catch {
                return end("\(error)")
            }
            let handshake = WebSocketClientHandshake(
                nonce: RandomBytes.make(16), subprotocols: [SocketEvent.subprotocol], offersCompression: true)
            phase = .handshake(handshake)
            write(handshake.request(host: address.authority, target: address.target))
            tcp.startReading()
        }

        func send(_ texts: [[UInt8]], _ whenSent: @escaping @Sendable () -> Void) {
            guard case .open = phase else { return whenSent() }
            var frames: [UInt8] = []
            for text in texts {
                text.withUnsafeBytes {
                    WebSocketFrameEncoder.append(.text, $0, mask: RandomBytes.make(4), to: &frames)
                }
            }
            write(frames, whenSent)
        }

        func readOn() { tcp?.startReading() }

        func close(_ code: UInt16?) {
            if case .open = phase, let code { return leave(code) }
            phase = .ended
            tcp?.close()
        }

        /// Says farewell behind all that waits, and waits for the peer to do the same. A peer that reads nothing is left
        /// after a while, as is one that does not say farewell.
        private func leave(_ code: UInt16) {
            guard !isLeaving else { return }
            isLeaving = true
            write(WebSocketFrameEncoder.close(code: code, reason: "", mask: RandomBytes.make(4)))
            phase = .ended
            guard let tcp else { return }
            if waiting.isEmpty, !tcp.isWriting { return tcp.shutdownThenClose() }
            loop?.schedule(afterMilliseconds: Self.leaveMilliseconds) { [weak self] in self?.tcp?.close() }
        }

        private static let leaveMilliseconds: UInt64 = 2_000

        // MARK: - From the server

        func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
            var events = [SocketEvent.heard]
            switch phase {
            case .connecting, .ended: return
            case .open: readFrames(bytes, &events)
            case .handshake(var handshake):
                switch handshake.parse(bytes) {
                case .needsMore: phase = .handshake(handshake)
                case .failure(_, let error): return end(error.message)
                case .open(_, let rest):
                    if let agreement = handshake.agreement {
                        guard let inflater = Inflater(keepsContext: agreement.keepsContext) else {
                            return end("there is no memory to decompress")
                        }
                        self.inflater = inflater
                        decoder.mayBeCompressed = true
                    }
                    phase = .open
                    events.append(.opened)
                    readFrames(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...]), &events)
                }
            }
            if !mailbox.put(events), case .open = phase { connection.stopReading() }
        }

        private func readFrames(_ bytes: UnsafeRawBufferPointer, _ events: inout [SocketEvent]) {
            let failure = decoder.decode(bytes) { event in
                switch event {
                case .text(let text): events.append(.text(Array(text)))
                case .binary: events.append(.broken("a binary frame"))
                case .ping(let payload): pong(payload)
                case .compressed(let isText, let payload): events.append(inflated(payload, isText: isText))
                case .pong: break
                case .close(let code, let reason):
                    events.append(.closed(code: code, reason: reason))
                    leave(code ?? 1000)
                }
            }
            if let failure { events.append(.broken(failure.message)) }
        }

        private func inflated(_ payload: UnsafeRawBufferPointer, isText: Bool) -> SocketEvent {
            guard isText, let inflater else { return .broken("a binary frame") }
            do throws(Inflater.Failure) {
                let text = try inflater.inflate(payload, bytesMax: SocketEvent.messageBytesMax)
                guard text.withUnsafeBytes({ WebSocketFrameDecoder.isText($0) }) else {
                    return .broken("a text that is not UTF-8")
                }
                return .text(text)
            } catch {
                return .broken("a message that can't be decompressed")
            }
        }

        /// A server that sends pings and reads no answers gets none.
        private func pong(_ payload: UnsafeRawBufferPointer) {
            guard pongs < Self.pongsMax else { return }
            pongs += 1
            var frame: [UInt8] = []
            WebSocketFrameEncoder.append(.pong, payload, mask: RandomBytes.make(4), to: &frame)
            write(frame)
        }

        func connectionDidDrain(_ connection: TCPConnection) {
            // With TLS what was sealed already may have been waiting, and not what is first here.
            if isHeadWriting, let sent = waiting.popFirst() {
                isHeadWriting = false
                didSend(sent)
            }
            writeOn()
            if isLeaving, waiting.isEmpty, tcp?.isWriting == false { tcp?.shutdownThenClose() }
        }

        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
            end(error.map(Self.sentence) ?? "")
            tcp = nil
            for outgoing in waiting { outgoing.whenSent?() }
            waiting = Fifo()
        }

        /// Tells that it is over, once.
        private func end(_ reason: String) {
            if case .ended = phase { return }
            phase = .ended
            mailbox.put([.closed(code: nil, reason: reason)])
            tcp?.close()
        }

        private static func sentence(_ error: TransportError) -> String {
            guard error.code == .notTrusted else { return error.message }
            return "\(error.message): no TLS, or a certificate that is not trusted or bears another name"
        }

        // MARK: - Writing

        private func write(_ bytes: [UInt8], _ whenSent: (@Sendable () -> Void)? = nil) {
            waiting.append(Outgoing(bytes: SharedBytes(copying: bytes), whenSent: whenSent))
            writeOn()
        }

        /// Offers what waits. The first stays in its place until the system has taken all of it.
        private func writeOn() {
            while let tcp, !tcp.isWriting, let next = waiting.first {
                let count = tcp.tryWrite(next.bytes)
                guard count == next.bytes.count else {
                    isHeadWriting = true
                    return tcp.write(next.bytes, from: count)
                }
                waiting.removeFirst()
                didSend(next)
            }
        }

        private func didSend(_ outgoing: Outgoing) {
            if let whenSent = outgoing.whenSent { whenSent() } else { pongs = max(0, pongs - 1) }
        }

        private static let pongsMax = 64
    }

    /// Bytes that nobody can foresee.
    enum RandomBytes {
        static func make(_ count: Int) -> [UInt8] {
            var generator = SystemRandomNumberGenerator()
            return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
    }
#endif
