import ChatModel
import NIOCore
import NIOPosix
import Synchronization
import Wire

@testable import ClientCore

/// `FakeServer` behind a real socket: for what the SDK does with sockets, and for what no real node says.
final class FakeGateway: Sendable {
    fileprivate struct State {
        var server = FakeServer()
        var requests: [ClientRequest] = []
        var channels: [any Channel] = []
    }

    fileprivate let state = Mutex(State())
    private let listener = Mutex<(any Channel)?>(nil)

    var url: String { "ws://127.0.0.1:\(listener.withLock { $0?.localAddress?.port ?? 0 })" }

    /// How much clients have asked for.
    var requestCount: Int { state.withLock { $0.requests.count } }

    /// The tokens with which clients have connected.
    var tokens: [String?] {
        state.withLock { state in
            state.requests.compactMap {
                if case .connect(let connect) = $0.operation { .some(connect.token) } else { nil }
            }
        }
    }

    init() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [weak self] channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let self else { return }
                    self.state.withLock { $0.channels.append(channel) }
                    try channel.pipeline.syncOperations.addHandler(FakeConnection(gateway: self))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        listener.withLock { $0 = channel }
    }

    deinit { listener.withLock { $0?.close(promise: nil) } }

    /// Says something to everybody.
    func say(_ json: String...) {
        let frame = WebSocketFrameEncoder.frame(.text, Array(json.joined(separator: "\n").utf8))
        write(frame)
    }

    /// Closes all connections, having said something in the same breath.
    func close(_ code: UInt16, saying json: String? = nil) {
        let words = json.map { WebSocketFrameEncoder.frame(.text, Array($0.utf8)) } ?? []
        write(words + WebSocketFrameEncoder.close(code: code, reason: "told to"))
    }

    private func write(_ frame: [UInt8]) {
        for channel in state.withLock({ $0.channels }) {
            channel.writeAndFlush(channel.allocator.buffer(bytes: frame), promise: nil)
        }
    }

    /// Answers requests.
    fileprivate func perform(_ requests: [ClientRequest]) -> [UInt8] {
        let items = state.withLock { state in
            for request in requests {
                state.requests.append(request)
                state.server.perform(request, refuses: false)
            }
            return state.server.takeOutbox()
        }
        var json: [UInt8] = []
        for item in items {
            item.appendJSON(to: &json)
            json.append(UInt8(ascii: "\n"))
        }
        return WebSocketFrameEncoder.frame(.text, json)
    }
}

/// One client's connection.
private final class FakeConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let gateway: FakeGateway
    private var handshake: HTTPUpgradeParser? = HTTPUpgradeParser()
    private var decoder = WebSocketFrameDecoder(role: .server)

    init(gateway: FakeGateway) { self.gateway = gateway }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var requests: [ClientRequest] = []
        var closes = false
        unwrapInboundIn(data).withUnsafeReadableBytes { bytes in
            guard handshake != nil else {
                _ = decoder.decode(bytes) { event in
                    switch event {
                    case .text(let text):
                        ClientFrame.requests(inJSON: text) {
                            if case .success(let request) = $0 { requests.append(request) }
                        }
                    case .close: closes = true
                    case .binary, .ping, .pong, .compressed: break
                    }
                }
                return
            }
            guard case .request(let request, _)? = handshake?.parse(bytes) else { return }
            handshake = nil
            guard case .success(let answer) = WebSocketHandshake.accept(request, subprotocols: ["chatroom.v1.json"])
            else { return context.close(promise: nil) }
            context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: answer)), promise: nil)
        }
        if !requests.isEmpty {
            let frame = gateway.perform(requests)
            context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(bytes: frame)), promise: nil)
        }
        if closes { context.close(promise: nil) }
    }
}
