import ChatModel
import ClientCore
import NIOCore
import Wire

/// One WebSocket connection on its loop: performs the handshake, answers pings, and gives what comes to the client.
///
/// What the client says is framed by the client itself and passes through.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// The response to the handshake is awaited. Next: open, ended.
        case handshake(WebSocketClientHandshake)
        /// Next: ended.
        case open
        /// `closed` was told, or will be when the channel is gone.
        case ended
    }

    private let address: GatewayAddress
    private let receive: ([ClientInput]) -> Void
    private let connection: UInt64
    private var phase: Phase
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: WebSocketHandler.messageBytesMax)
    private var closeCode: UInt16?
    private var closeReason = ""
    /// Bytes are being read. What they say is told before the channel's end, though a channel that is closed meanwhile
    /// says so at once.
    private var isReading = false
    private var hasEnded = false

    /// - Parameter receive: called on the loop with what happened, in order.
    init(address: GatewayAddress, connection: UInt64, receive: @escaping ([ClientInput]) -> Void) {
        self.address = address
        self.connection = connection
        self.receive = receive
        phase = .handshake(WebSocketClientHandshake(nonce: RandomBytes.make(16), subprotocols: [Self.subprotocol]))
    }

    func channelActive(context: ChannelHandlerContext) {
        if case .handshake(let handshake) = phase {
            let request = handshake.request(host: address.authority, target: address.target)
            context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: request)), promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var inputs = [ClientInput.heard(connection: connection)]
        isReading = true
        unwrapInboundIn(data).withUnsafeReadableBytes { bytes in read(bytes, &inputs, context) }
        isReading = false
        if hasEnded { inputs.append(closed) }
        receive(inputs)
    }

    private func read(
        _ bytes: UnsafeRawBufferPointer, _ inputs: inout [ClientInput], _ context: ChannelHandlerContext
    ) {
        switch phase {
        case .ended: return
        case .open: return readFrames(bytes, &inputs, context)
        case .handshake(var handshake):
            switch handshake.parse(bytes) {
            case .needsMore: phase = .handshake(handshake)
            case .failure(_, let error):
                closeReason = error.message
                phase = .ended
                context.close(promise: nil)
            case .open(_, let rest):
                phase = .open
                inputs.append(.opened(connection: connection))
                guard rest > 0 else { return }
                readFrames(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...]), &inputs, context)
            }
        }
    }

    private func readFrames(
        _ bytes: UnsafeRawBufferPointer, _ inputs: inout [ClientInput], _ context: ChannelHandlerContext
    ) {
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .text(let text): readItems(text, &inputs)
            case .binary: inputs.append(.broken(connection: connection, "a binary frame"))
            case .ping(let payload): pong(payload, context)
            // Not negotiated.
            case .compressed: break
            case .pong: break
            case .close(let code, let reason):
                closeCode = code
                closeReason = reason
                phase = .ended
                let frame = WebSocketFrameEncoder.close(code: code ?? 1000, reason: "", mask: RandomBytes.make(4))
                context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: frame)), promise: nil)
                context.close(promise: nil)
            }
        }
        if let failure { inputs.append(.broken(connection: connection, failure.message)) }
    }

    private func readItems(_ text: UnsafeRawBufferPointer, _ inputs: inout [ClientInput]) {
        do throws(ChatError) {
            try ServerFrame.items(inJSON: text) { inputs.append(.received(connection: connection, $0)) }
        } catch {
            inputs.append(.broken(connection: connection, error.message))
        }
    }

    private func pong(_ payload: UnsafeRawBufferPointer, _ context: ChannelHandlerContext) {
        var frame: [UInt8] = []
        WebSocketFrameEncoder.append(.pong, payload, mask: RandomBytes.make(4), to: &frame)
        context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: frame)), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .ended
        hasEnded = true
        if !isReading { receive([closed]) }
        context.fireChannelInactive()
    }

    private var closed: ClientInput { .closed(connection: connection, code: closeCode, reason: closeReason) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if closeReason.isEmpty { closeReason = "\(error)" }
        context.close(promise: nil)
    }

    static let subprotocol = "chatroom.v1.json"
    /// Coalesced pushes and a reply with 100 missed messages may be large.
    private static let messageBytesMax = 64 << 20
}

/// Bytes that nobody can foresee.
enum RandomBytes {
    static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
