internal import CShims
internal import CUV
public import EventLoop
internal import TLS

/// A TCP connection on a loop; made by a ``TCPListener`` or by
/// ``connect(loop:host:port:localAddress:timeoutMilliseconds:completion:)``.
///
/// Like everything on a loop it may be used on that loop's thread only, which each call checks. It starts with
/// TCP_NODELAY and without reading. The loop keeps it alive until it has reported its end; it keeps its handler alive
/// until then.
///
/// Writing: offer bytes with ``tryWrite(_:from:)``. The bytes that the system does not take (its buffer is full) stay
/// with the caller, who hands the rest of one buffer to ``write(_:from:)`` and goes on when the handler hears that it
/// drained. So at most one buffer per connection waits here; the queue, and its bound, are the caller's.
public final class TCPConnection: LoopHandle {
    /// The peer's numeric address. Stays after the connection has closed.
    public private(set) var remoteAddress = ""

    /// The peer's port.
    public private(set) var remotePort = 0

    /// The object to tell. Set by the owner before it starts reading, cleared when the connection has closed.
    public var handler: (any ConnectionHandler)?

    /// Whether it is read however much input the turn has had. For the few connections on which the others depend.
    public var hasPriority = false

    /// The life of a connection.
    enum Life {
        /// Bytes are read and written for the handler. Can become: `ending`, `shutDown`, `closing`.
        case open
        /// The owner has ended it, and what it wrote before is not sealed yet (TLS). Nothing is read or written for the
        /// handler any more, here and below. Can become: `shutDown`, `closing`.
        case ending(milliseconds: UInt64)
        /// The peer is told that no more comes, and has time to do the same. Can become: `closing`.
        case shutDown
        /// The libuv handle is closing, because of this error of libuv; 0: because this side wants it. Final.
        case closing(code: Int32)
    }

    /// The part that the turn's share of input has in when the connection is read.
    private enum InputTurn {
        /// It is read as long as the turn takes input. Can become: `putOff`.
        case free
        /// It waits for a later turn. Can become: `due`.
        case putOff
        /// It has waited, and is read once, however much input the turn has had. Can become: `free`.
        case due
    }

    let tcp: UnsafeMutablePointer<uv_tcp_t>
    private let target: WriteTarget

    /// Whether the owner wants to read.
    private var wantsInput = false
    private var inputTurn = InputTurn.free

    /// nil on a connection without TLS.
    private(set) var tls: TLSSession?
    /// With TLS, what ``write(_:from:)`` took and is not sealed yet.
    var unsealed: (bytes: SharedBytes, offset: Int)?
    /// With TLS, sealed bytes that wait for the `uv_write` under way: alerts and answers of the protocol itself.
    var sealedWaiting: [UInt8] = []

    /// The bytes of the `uv_write` under way.
    private(set) var bytesInFlight: SharedBytes? {
        didSet { target.set(.writing, bytesInFlight != nil) }
    }
    private(set) var life = Life.open {
        // It never becomes open again.
        didSet { target.set(.closed, true) }
    }
    private var lingerTimer: LoopTimer?

    /// A handle without a socket. The caller opens it with a descriptor or closes it.
    override init(loop: EventLoop) {
        tcp = .allocate(capacity: 1)
        target = WriteTarget(cell: loop.cells.take())
        super.init(loop: loop)
        // Cannot fail: without a family it only fills the handle in.
        uv_tcp_init(loop.uvLoop, tcp)
        tcp.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    deinit {
        tcp.deallocate()
        loop.cells.giveBack(target.cell)
    }

    /// Takes over the descriptor of a socket. Returns 0 or an error of libuv, with which the descriptor stays the caller's.
    func open(_ descriptor: Int32) -> Int32 {
        let result = uv_tcp_open(tcp, descriptor)
        if result == 0 { target.open(descriptor) }
        return result
    }

    var stream: UnsafeMutablePointer<uv_stream_t> {
        UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_stream_t.self)
    }

    /// Whether bytes are read and written for the handler.
    var isOpen: Bool { if case .open = life { true } else { false } }

    /// Whether the socket can be written to, if only by this class itself.
    private var isWritable: Bool {
        switch life {
        case .open, .ending: true
        case .shutDown, .closing: false
        }
    }

    var isClosing: Bool { if case .closing = life { true } else { false } }

    private static func from(_ data: UnsafeMutableRawPointer?) -> TCPConnection {
        Unmanaged<TCPConnection>.fromOpaque(data.unsafelyUnwrapped).takeUnretainedValue()
    }

    /// Remembers the peer's address of a connection just established.
    func readPeerAddress() {
        guard let peer = SocketAddress(filledBy: { uv_tcp_getpeername(tcp, $0, $1) }) else { return }
        remoteAddress = peer.host
        remotePort = peer.port
    }

    // MARK: - Reading

    /// Starts to deliver what the peer sends; does nothing when it does so already or is closing.
    public func startReading() {
        checkOnLoop()
        guard isWritable else { return }
        readOn()
    }

    /// Stops delivering; the peer is held back by TCP. May be called while bytes are delivered. The end of the stream is
    /// not noticed either until reading starts again.
    public func stopReading() {
        checkOnLoop()
        guard isWritable else { return }
        wantsInput = false
        uv_read_stop(stream)
    }

    /// Whether bytes of the peer wait to be read, which costs a system call.
    public var hasUnreadInput: Bool {
        checkOnLoop()
        guard isOpen else { return false }
        var descriptor: uv_os_fd_t = -1
        let handle = UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_handle_t.self)
        return uv_fileno(handle, &descriptor) == 0 && chatroom_has_input(descriptor) != 0
    }

    private func readOn() {
        wantsInput = true
        if case .putOff = inputTurn { return }
        let result = uv_read_start(
            stream,
            { handle, _, buffer in
                let connection = TCPConnection.from(handle.unsafelyUnwrapped.pointee.data)
                // Without a buffer nothing is read, and the callback hears of it.
                guard connection.takeTurnToRead() else {
                    return buffer.unsafelyUnwrapped.pointee = uv_buf_t(base: nil, len: 0)
                }
                let memory = connection.loop.readBuffer
                buffer.unsafelyUnwrapped.pointee = uv_buf_t(
                    base: memory.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self), len: memory.count)
            },
            { stream, count, buffer in
                let connection = TCPConnection.from(stream.unsafelyUnwrapped.pointee.data)
                let memory = buffer.unsafelyUnwrapped.pointee.base
                guard memory != nil || count != Int(UV_ENOBUFS.rawValue) else { return connection.putOffInput() }
                connection.didRead(count, into: memory)
            })
        // Reading twice is no fault.
        if result != 0, result != UV_EALREADY.rawValue { close(code: result) }
    }

    /// The turn has had its share of input.
    private func putOffInput() {
        uv_read_stop(stream)
        inputTurn = .putOff
        loop.takeInputLater { [self] in
            inputTurn = .due
            if wantsInput, !isClosing { readOn() }
        }
    }

    private func takeTurnToRead() -> Bool {
        let turn = exchange(&inputTurn, with: .free)
        return hasPriority || loop.takesInput() || turn == .due
    }

    private func didRead(_ count: Int, into memory: UnsafeMutablePointer<CChar>?) {
        guard count != 0 else { return }
        guard count > 0 else {
            // The errors of libuv are negative errno values.
            return peerDidEnd(code: Int32(truncatingIfNeeded: count))
        }
        if case .shutDown = life { return }
        deliver(UnsafeRawBufferPointer(start: memory, count: count))
    }

    /// Nothing more can come, because of this error of libuv. That is no error where this side has ended too.
    func peerDidEnd(code: Int32) {
        if case .shutDown = life { close(code: 0) } else { close(code: code) }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        if let tls { return receiveSealed(bytes, tls) }
        handler?.connection(self, didRead: bytes)
    }

    /// Delivers bytes again that a former handler has read and not used, to the handler of now, during this call. They
    /// are opened if TLS has begun since.
    public func redeliver(_ bytes: [UInt8]) {
        checkOnLoop()
        guard !bytes.isEmpty, isWritable else { return }
        bytes.withUnsafeBytes { deliver($0) }
    }

    /// Whether TLS was begun and its handshake has not ended: what is written waits until then.
    public var isHandshaking: Bool {
        checkOnLoop()
        return tls.map { !$0.isReady } ?? false
    }

    /// The names in the certificate that the peer has shown (``TLSSession/peerNames``); empty without TLS.
    public var peerNames: [String] {
        checkOnLoop()
        return tls?.peerNames ?? []
    }

    /// The fingerprint of the certificate that the peer has shown (``TLSSession/peerFingerprint``); nil without TLS.
    public var peerFingerprint: [UInt8]? {
        loop.checkIsolated()
        return tls?.peerFingerprint
    }

    /// A value that this TLS connection alone has (``TLSSession/channelBinding``); nil without TLS.
    public var channelBinding: [UInt8]? {
        checkOnLoop()
        return tls?.channelBinding
    }

    /// From now on everything is sealed. To be called before anything is written or, but for what is redelivered, read.
    func secure(_ session: TLSSession) {
        checkOnLoop()
        tls = session
        target.set(.sealed, true)
    }

    // MARK: - Writing

    /// Whether something waits for this connection at its owner, so that a broadcast must not write ahead of it.
    public var isHeld = false {
        didSet { target.set(.held, isHeld) }
    }

    /// For a broadcast; valid for as long as this object lives.
    public var writeTarget: WriteTarget { target }

    /// Offers the bytes from `offset` on to the system at once.
    ///
    /// - Returns: how many it took; 0 when its buffer is full, a ``write(_:from:)`` is under way, or the connection is
    ///   closing. An error closes the connection.
    public func tryWrite(_ bytes: SharedBytes, from offset: Int = 0) -> Int {
        precondition(offset >= 0 && offset <= bytes.count, "the offset is inside the bytes")
        if tls != nil {
            return trySealed(UnsafeRawBufferPointer(start: bytes.base + offset, count: bytes.count - offset))
        }
        return tryWrite(
            uv_buf_t(base: (bytes.base + offset).assumingMemoryBound(to: CChar.self), len: bytes.count - offset))
    }

    /// Offers bytes that nobody else needs, such as a reply during a handshake. Otherwise like
    /// ``tryWrite(_:from:)``.
    public func tryWrite(_ bytes: UnsafeRawBufferPointer) -> Int {
        if tls != nil { return trySealed(bytes) }
        return tryWrite(
            uv_buf_t(
                base: UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: CChar.self)),
                len: bytes.count))
    }

    /// Offers several buffers in one system call: the first from `offset` on, the others in full. At most the first 64
    /// are offered.
    ///
    /// - Returns: how many bytes it took in all; otherwise like ``tryWrite(_:from:)``.
    public func tryWrite(_ buffers: ArraySlice<SharedBytes>, firstFrom offset: Int = 0) -> Int {
        checkOnLoop()
        guard let first = buffers.first else { return 0 }
        precondition(offset >= 0 && offset <= first.count, "the offset is inside the first buffer")
        if tls != nil { return trySealed(buffers, firstFrom: offset) }
        let offered = buffers.prefix(64)
        return withUnsafeTemporaryAllocation(of: uv_buf_t.self, capacity: offered.count) { vector in
            var skipped = offset
            for (place, bytes) in zip(vector.indices, offered) {
                vector.initializeElement(
                    at: place,
                    to: uv_buf_t(
                        base: (bytes.base + skipped).assumingMemoryBound(to: CChar.self), len: bytes.count - skipped))
                skipped = 0
            }
            return withExtendedLifetime(offered) {
                taken(uv_try_write(stream, vector.baseAddress, UInt32(offered.count)))
            }
        }
    }

    /// The hot path of the fan-out: no allocation, no reference counting, only constant properties.
    @inline(__always)
    private func tryWrite(_ buffer: uv_buf_t) -> Int {
        checkOnLoop()
        var buffer = buffer
        // libuv answers EAGAIN while a uv_write is under way, which keeps the order, and EBADF when closed.
        return taken(uv_try_write(stream, &buffer, 1))
    }

    @inline(__always)
    func taken(_ result: Int32) -> Int {
        if result >= 0 { return Int(result) }
        return writeDidFail(result)
    }

    @inline(never)
    private func writeDidFail(_ code: Int32) -> Int {
        guard code != UV_EAGAIN.rawValue, isWritable else { return 0 }
        close(code: code)
        return 0
    }

    /// Whether a ``write(_:from:)`` is under way.
    public var isWriting: Bool {
        checkOnLoop()
        return bytesInFlight != nil || unsealed != nil
    }

    /// Writes the bytes from `offset` on as the system takes them, keeps them alive until then, and reports
    /// ``ConnectionHandler/connectionDidDrain(_:)`` afterwards, never during this call.
    ///
    /// One at a time: ``isWriting`` must be false. Does nothing when the connection is closing.
    public func write(_ bytes: SharedBytes, from offset: Int = 0) {
        checkOnLoop()
        precondition(offset >= 0 && offset < bytes.count, "there is something to write")
        if tls != nil { return writeSealing(bytes, from: offset) }
        precondition(bytesInFlight == nil, "one write at a time")
        guard isWritable else { return }
        startWrite(bytes, from: offset)
    }

    /// Hands the bytes to libuv, which takes them as the system does.
    func startWrite(_ bytes: SharedBytes, from offset: Int = 0) {
        bytesInFlight = bytes
        let request = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
        var buffer = uv_buf_t(
            base: (bytes.base + offset).assumingMemoryBound(to: CChar.self), len: bytes.count - offset)
        let result = uv_write(request, stream, &buffer, 1) { request, status in
            let request = request.unsafelyUnwrapped
            // libuv calls back before the handle's own close callback: the connection is alive.
            let connection = TCPConnection.from(request.pointee.handle.pointee.data)
            request.deallocate()
            connection.writeDidEnd(status)
        }
        if result != 0 {
            request.deallocate()
            bytesInFlight = nil
            return close(code: result)
        }
        handler?.connectionDoesWait(self)
    }

    private func writeDidEnd(_ status: Int32) {
        bytesInFlight = nil
        if status != 0 {
            close(code: status)
        } else if isWritable {
            if tls != nil, continuesSealed() { return }
            handler?.connectionDidDrain(self)
        }
    }

    // MARK: - Closing

    /// Closes the connection; what a ``write(_:from:)`` has not yet handed over is lost. Idempotent. The handler hears of
    /// it later, not during this call.
    override public func close() {
        checkOnLoop()
        close(code: 0)
    }

    /// Finishes the write under way, tells the peer that no more comes, and closes when the peer has done the same, or
    /// when `milliseconds` are over. Closing at once could destroy what the peer has not read yet (RFC 1122, 4.2.2.13).
    ///
    /// From now on nothing is read or written for the handler; it hears only of the end. Idempotent.
    public func shutdownThenClose(withinMilliseconds milliseconds: UInt64 = 2_000) {
        checkOnLoop()
        guard isOpen else { return }
        end(withinMilliseconds: milliseconds)
    }

    /// Shuts down, or becomes `ending` while something waits to be sealed; then this is called again.
    func end(withinMilliseconds milliseconds: UInt64) {
        lingerTimer?.cancel()
        lingerTimer = loop.schedule(afterMilliseconds: milliseconds) { [unowned self] in close(code: 0) }
        if let tls {
            let isSealed = endSealing(tls)
            // An error of the socket may have closed it.
            guard !isClosing else { return }
            guard isSealed else { return life = .ending(milliseconds: milliseconds) }
        }
        life = .shutDown
        let request = UnsafeMutablePointer<uv_shutdown_t>.allocate(capacity: 1)
        let result = uv_shutdown(request, stream) { request, status in
            let request = request.unsafelyUnwrapped
            let connection = TCPConnection.from(request.pointee.handle.pointee.data)
            request.deallocate()
            // On success the peer's end of stream or the timer closes.
            if status != 0 { connection.close(code: 0) }
        }
        guard result == 0 else {
            request.deallocate()
            close(code: 0)
            return
        }
        readOn()
    }

    /// Closes for the reason `code`, a libuv error; 0 when this side wants it.
    func close(code: Int32) {
        guard !isClosing else { return }
        life = .closing(code: code)
        lingerTimer?.cancel()
        lingerTimer = nil
        uv_close(UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_handle_t.self)) { handle in
            let data = handle.unsafelyUnwrapped.pointee.data.unsafelyUnwrapped
            Unmanaged<TCPConnection>.fromOpaque(data).takeRetainedValue().didClose()
        }
    }

    private func didClose() {
        guard let handler, case .closing(let code) = life else { return }
        self.handler = nil
        handler.connectionDidClose(
            self,
            error: code == 0
                ? nil : TransportError(uvCode: code, doing: "connection with \(remoteAddress):\(remotePort)"))
    }

    @inline(__always)
    func checkOnLoop() {
        precondition(
            chatroom_current_loop() == UnsafeRawPointer(Unmanaged.passUnretained(loop).toOpaque()),
            "a connection is used on its loop")
    }
}
