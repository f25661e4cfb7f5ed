internal import CUV
public import EventLoop
internal import Glibc

/// A UDP socket on a loop, for small datagrams whose loss does not matter.
public final class UDPSocket: LoopHandle {
    /// The function that is called with each datagram, its sender's numeric address and port. The bytes are valid
    /// during the call.
    public typealias Receiver = (_ bytes: UnsafeRawBufferPointer, _ host: String, _ port: Int) -> Void

    /// The port; the one that the system chose if 0 was asked for.
    public private(set) var port = 0

    private let udp: UnsafeMutablePointer<uv_udp_t>
    private let receive: Receiver

    /// Binds and starts to receive. On the loop only.
    ///
    /// - Parameters:
    ///   - host: A numeric IPv4 or IPv6 address or `localhost`.
    ///   - port: 0 lets the system choose.
    ///   - receive: Called on the loop. A datagram longer than 65,536 bytes cannot come; a truncated one is dropped.
    public init(loop: EventLoop, host: String, port: Int, receive: @escaping Receiver) throws(TransportError) {
        let address = try SocketAddress(host: host, port: port)
        udp = .allocate(capacity: 1)
        self.receive = receive
        super.init(loop: loop)
        // Cannot fail: without a family it only fills the handle in.
        uv_udp_init(loop.uvLoop, udp)
        udp.pointee.data = Unmanaged.passRetained(self).toOpaque()
        var result = address.withPointer { uv_udp_bind(udp, $0, 0) }
        if result == 0 { result = startReceiving() }
        guard result == 0, let bound = SocketAddress(filledBy: { uv_udp_getsockname(udp, $0, $1) }) else {
            close()
            throw TransportError(uvCode: result, doing: "bind UDP to \(host):\(port)")
        }
        self.port = bound.port
    }

    deinit {
        udp.deallocate()
    }

    /// Sends one datagram at once. On the loop only.
    ///
    /// - Returns: false when the system has no room for it: it is dropped, as the network might do. Nothing queues here.
    /// - Throws: `invalidAddress`, `messageTooLong`, `unreachable` and the like.
    @discardableResult
    public func send(_ bytes: UnsafeRawBufferPointer, toHost host: String, port: Int) throws(TransportError) -> Bool {
        loop.checkIsolated()
        let address = try SocketAddress(host: host, port: port)
        var buffer = uv_buf_t(
            base: UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: CChar.self)),
            len: bytes.count)
        let result = address.withPointer { uv_udp_try_send(udp, &buffer, 1, $0) }
        if result >= 0 { return true }
        if result == UV_EAGAIN.rawValue || result == UV_ENOBUFS.rawValue { return false }
        throw TransportError(uvCode: result, doing: "send \(bytes.count) bytes to \(host):\(port)")
    }

    /// Stops receiving and frees the port. Idempotent. On the loop only.
    override public func close() {
        loop.checkIsolated()
        let handle = UnsafeMutableRawPointer(udp).assumingMemoryBound(to: uv_handle_t.self)
        guard uv_is_closing(handle) == 0 else { return }
        uv_close(handle) { Unmanaged<UDPSocket>.fromOpaque($0.unsafelyUnwrapped.pointee.data).release() }
    }

    private func startReceiving() -> Int32 {
        uv_udp_recv_start(
            udp,
            { handle, _, buffer in
                let data = handle.unsafelyUnwrapped.pointee.data.unsafelyUnwrapped
                let memory = Unmanaged<UDPSocket>.fromOpaque(data).takeUnretainedValue().loop.readBuffer
                buffer.unsafelyUnwrapped.pointee = uv_buf_t(
                    base: memory.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self), len: memory.count)
            },
            { handle, count, buffer, sender, flags in
                // No sender: nothing more to read. An error here belongs to an earlier datagram (ICMP) and passes.
                guard count >= 0, let sender, flags & UInt32(UV_UDP_PARTIAL.rawValue) == 0,
                    let address = SocketAddress(copying: sender)
                else { return }
                let data = handle.unsafelyUnwrapped.pointee.data.unsafelyUnwrapped
                let socket = Unmanaged<UDPSocket>.fromOpaque(data).takeUnretainedValue()
                let bytes = UnsafeRawBufferPointer(start: buffer.unsafelyUnwrapped.pointee.base, count: count)
                socket.receive(bytes, address.host, address.port)
            })
    }
}
