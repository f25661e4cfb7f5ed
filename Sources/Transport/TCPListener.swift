internal import CShims
internal import CUV
public import EventLoop
internal import Glibc

/// A listening TCP socket on a loop. The connections that it accepts live on the same loop.
///
/// It accepts by itself instead of through `uv_listen`, whose accept loop has neither a bound nor a way out: libuv 1.44
/// accepts until the backlog is empty, and spins in there when descriptors ran out and its reserve is gone.
///
/// When descriptors run out, a reserve descriptor is closed to accept the waiting connection and close it at once: the
/// client sees a closed connection instead of silence, and the level-triggered poll does not report it for ever. If
/// even that fails the listener rests for ``restMilliseconds``.
public final class TCPListener: LoopHandle {
    /// The most connections accepted in one turn where nothing else is said, so that a flood does not starve the others
    /// of the loop.
    public static let acceptsPerTurn = 64

    /// The pause after an accept that failed for lack of descriptors or memory.
    public static let restMilliseconds: UInt64 = 100

    /// The port; the one that the system chose if 0 was asked for.
    public let port: Int

    private let descriptor: Int32
    private var reserve: Int32
    private let poll: UnsafeMutablePointer<uv_poll_t>
    private var restTimer: LoopTimer?
    private let acceptsPerTurn: Int
    private let accept: (TCPConnection) -> Void

    /// Listens. On the loop only.
    ///
    /// - Parameters:
    ///   - host: A numeric IPv4 or IPv6 address or `localhost`. On `::` IPv4 is accepted too, if the system is so set.
    ///   - port: 0 lets the system choose.
    ///   - reusePort: Lets several loops of this user listen on one port; the system spreads the connections (SO_REUSEPORT).
    ///   - backlog: How many established connections may wait to be accepted.
    ///   - acceptsPerTurn: The most connections accepted in one turn.
    ///   - accept: Called with each new connection, on the loop. It sets a handler and starts reading, or closes.
    public init(
        loop: EventLoop, host: String, port: Int, reusePort: Bool, backlog: Int = 1_024,
        acceptsPerTurn: Int = TCPListener.acceptsPerTurn, accept: @escaping (TCPConnection) -> Void
    ) throws(TransportError) {
        loop.checkIsolated()
        let action = "listen on \(host):\(port)"
        let address = try SocketAddress(host: host, port: port)
        let descriptor = address.withPointer {
            chatroom_listen($0, address.length, reusePort ? 1 : 0, Int32(clamping: backlog))
        }
        guard descriptor >= 0 else { throw TransportError(uvCode: descriptor, doing: action) }
        let bound = SocketAddress { address, length in
            var size = UInt32(length.pointee)
            return getsockname(descriptor, address, &size)
        }
        guard let bound else {
            chatroom_close(descriptor)
            throw TransportError(uvCode: UV_EINVAL.rawValue, doing: action)
        }
        let poll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let result = uv_poll_init(loop.uvLoop, poll, descriptor)
        guard result == 0 else {
            // A poll handle that could not be initialised is not on the loop.
            chatroom_close(descriptor)
            poll.deallocate()
            throw TransportError(uvCode: result, doing: action)
        }
        self.descriptor = descriptor
        self.poll = poll
        self.port = bound.port
        self.acceptsPerTurn = acceptsPerTurn
        self.accept = accept
        reserve = chatroom_reserve_descriptor()
        super.init(loop: loop)
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()
        waitForConnections()
    }

    deinit {
        poll.deallocate()
    }

    /// Stops listening: what waits in the backlog is refused. Accepted connections stay. Idempotent.
    override public func close() {
        loop.checkIsolated()
        let handle = UnsafeMutableRawPointer(poll).assumingMemoryBound(to: uv_handle_t.self)
        guard uv_is_closing(handle) == 0 else { return }
        restTimer?.cancel()
        restTimer = nil
        uv_close(handle) { Unmanaged<TCPListener>.fromOpaque($0.unsafelyUnwrapped.pointee.data).release() }
        // libuv has let go of the descriptor, so that the port is free at once.
        chatroom_close(descriptor)
        if reserve >= 0 { chatroom_close(reserve) }
        reserve = -1
    }

    private var isClosing: Bool {
        uv_is_closing(UnsafeMutableRawPointer(poll).assumingMemoryBound(to: uv_handle_t.self)) != 0
    }

    private func waitForConnections() {
        // Refuses only a handle that is closing.
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { poll, _, _ in
            let data = poll.unsafelyUnwrapped.pointee.data.unsafelyUnwrapped
            Unmanaged<TCPListener>.fromOpaque(data).takeUnretainedValue().acceptWaiting()
        }
    }

    private func acceptWaiting() {
        for _ in 0..<acceptsPerTurn {
            // The callback may have closed the listener.
            guard !isClosing else { return }
            let accepted = chatroom_accept(descriptor)
            if accepted >= 0 {
                open(accepted)
                continue
            }
            switch accepted {
            case -EAGAIN: return
            case -EMFILE, -ENFILE:
                switch turnAway() {
                case .turnedAway: continue
                case .noneWaiting: return
                case .failed: return rest()
                }
            case -ENOBUFS, -ENOMEM: return rest()
            // Everything else concerns the one connection that was to be accepted (accept(2), "Error handling").
            default: continue
            }
        }
    }

    private func open(_ accepted: Int32) {
        let connection = TCPConnection(loop: loop)
        guard connection.open(accepted) == 0 else {
            chatroom_close(accepted)
            connection.close()
            return
        }
        connection.readPeerAddress()
        accept(connection)
    }

    private enum TurningAway {
        case turnedAway
        case noneWaiting
        case failed
    }

    /// Accepts one connection with the reserve descriptor and closes it.
    private func turnAway() -> TurningAway {
        guard reserve >= 0 else {
            // It was lost to another thread before; there may be descriptors again by now.
            reserve = chatroom_reserve_descriptor()
            return reserve >= 0 ? .turnedAway : .failed
        }
        chatroom_close(reserve)
        let accepted = chatroom_accept(descriptor)
        if accepted >= 0 { chatroom_close(accepted) }
        reserve = chatroom_reserve_descriptor()
        // With no descriptor free, accept fails with EMFILE before it looks whether anyone waits.
        if accepted == -EAGAIN { return .noneWaiting }
        return accepted >= 0 && reserve >= 0 ? .turnedAway : .failed
    }

    private func rest() {
        uv_poll_stop(poll)
        restTimer = loop.schedule(afterMilliseconds: Self.restMilliseconds) { [unowned self] in
            restTimer = nil
            waitForConnections()
        }
    }
}
