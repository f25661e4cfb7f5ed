internal import Glibc
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Watches the connections of one port: their places and their times.
final class APIConnections: Sendable {
    let places: APIPlaces
    let configuration: APIServerConfiguration
    private let lastNumber = Atomic<UInt64>(0)
    /// To close those that give way.
    private let channels = Mutex<[UInt64: any Channel]>([:])

    init(_ configuration: APIServerConfiguration) {
        self.configuration = configuration
        places = APIPlaces(
            max: configuration.connectionsMax, perAddressMax: configuration.connectionsPerAddressMax)
    }

    /// Returns the number of the connection; nil when there is no place for it.
    fileprivate func open(_ channel: any Channel) -> UInt64? {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        switch places.take(number, of: Self.holder(channel.remoteAddress?.ipAddress ?? "")) {
        case .refused: return nil
        case .taken: break
        case .takenFor(let other): channels.withLock { $0.removeValue(forKey: other) }?.close(promise: nil)
        }
        channels.withLock { $0[number] = channel }
        return number
    }

    fileprivate func close(_ number: UInt64) {
        channels.withLock { _ = $0.removeValue(forKey: number) }
        places.give(number)
    }

    /// What one customer of a network holds: an IPv4 address, or a /64 of IPv6.
    private static func holder(_ address: String) -> String {
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return address }
        return withUnsafeBytes(of: six) { bytes in
            // IPv4 mapped into IPv6 (RFC 4291 §2.5.5.2) is told apart in the last four bytes.
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            let prefix = isMapped ? bytes[...] : bytes[..<8]
            return prefix.map { String($0, radix: 16) }.joined(separator: ":")
        }
    }
}

/// One connection, between the HTTP decoder and the server: takes its place, and cuts it
/// - `headSeconds` after it was opened, or after the first byte of another request, when there is no complete head;
/// - `unreadSeconds` after it stopped reading its answer.
///
/// The rest is bounded elsewhere: bodies by ``APIResponder``, pauses between requests by the server's idle time.
final class APIConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let connections: APIConnections
    private var number: UInt64?
    private var headDeadline: Scheduled<Void>?
    private var unreadDeadline: Scheduled<Void>?
    /// Heads that have come and are not answered in full.
    private var underWay = 0
    /// The body of the last head has come, too.
    private var isWhole = true

    init(_ connections: APIConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        guard let number = connections.open(context.channel) else { return context.close(promise: nil) }
        self.number = number
        // Before TLS and HTTP: it hears of bytes that are no head yet.
        let first = FirstByte(watch: self)
        try? context.pipeline.syncOperations.addHandler(first, position: .first)
        awaitHead(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        headDeadline?.cancel()
        unreadDeadline?.cancel()
        (headDeadline, unreadDeadline) = (nil, nil)
        if let number { connections.close(number) }
        number = nil
    }

    private func awaitHead(_ context: ChannelHandlerContext) {
        guard headDeadline == nil else { return }
        headDeadline = cut(context.channel, after: connections.configuration.headSeconds)
    }

    private func cut(_ channel: any Channel, after seconds: Int64) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: .seconds(seconds)) { channel.close(promise: nil) }
    }

    /// Bytes have come; between two requests they are the first of the next.
    fileprivate func heard(_ channel: any Channel) {
        guard underWay == 0, isWhole, headDeadline == nil else { return }
        headDeadline = cut(channel, after: connections.configuration.headSeconds)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            headDeadline?.cancel()
            headDeadline = nil
            underWay += 1
            isWhole = false
        case .body: break
        case .end:
            isWhole = true
            tell()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            underWay = max(0, underWay - 1)
            tell()
        }
        context.write(data, promise: promise)
    }

    private func tell() {
        if let number { connections.places.set(number, waits: !isWhole || underWay == 0) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        unreadDeadline?.cancel()
        unreadDeadline =
            context.channel.isWritable
            ? nil : cut(context.channel, after: connections.configuration.unreadSeconds)
        context.fireChannelWritabilityChanged()
    }
}

/// The first handler of a connection.
private final class FirstByte: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let watch: APIConnectionWatch

    init(watch: APIConnectionWatch) { self.watch = watch }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        watch.heard(context.channel)
        context.fireChannelRead(data)
    }
}
