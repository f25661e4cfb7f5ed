internal import CShims
internal import CUV
public import EventLoop
internal import Glibc

extension TCPConnection {
    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - host: A numeric address, or a name, whose addresses are tried one after the other; names are looked up on a
    ///     thread of libuv's pool.
    ///   - localAddress: The numeric source address, of the same family; nil lets the system choose.
    ///   - receiveLimits: How little it takes at a time; nil leaves that to the system.
    ///   - timeoutMilliseconds: The limit for establishing the connection, look-up not counted; then it fails with
    ///     `timedOut`. The addresses of a name share it.
    ///   - completion: Called exactly once on the loop, never during this call. The connection does not read yet.
    public static func connect(
        loop: EventLoop, host: String, port: Int, localAddress: String? = nil, receiveLimits: ReceiveLimits? = nil,
        timeoutMilliseconds: UInt64 = 10_000,
        completion: @escaping (Result<TCPConnection, TransportError>) -> Void
    ) {
        loop.checkIsolated()
        let attempt = ConnectionAttempt(
            loop: loop, name: "connect to \(host):\(port)", timeoutMilliseconds: timeoutMilliseconds,
            completion: completion)
        do throws(TransportError) {
            attempt.receiveLimits = receiveLimits
            attempt.source = try localAddress.map { address throws(TransportError) in
                try SocketAddress(host: address, port: 0)
            }
            if let address = try? SocketAddress(host: host, port: port) {
                attempt.connect(toFirstOf: [address])
            } else {
                try attempt.lookUp(host, port: port)
            }
        } catch {
            attempt.end(.failure(error))
        }
    }
}

/// One attempt to connect, from the look-up of the name to the completion.
final class ConnectionAttempt {
    let loop: EventLoop
    let name: String
    let timeoutMilliseconds: UInt64
    var source: SocketAddress?
    var receiveLimits: ReceiveLimits?
    private var completion: ((Result<TCPConnection, TransportError>) -> Void)?
    private var connection: TCPConnection?
    /// Addresses that have not been tried, best first.
    private var others: ArraySlice<SocketAddress> = []
    private var until: UInt64 = 0
    private var timer: LoopTimer?
    private var hasTimedOut = false

    /// More addresses of a name than this are not tried.
    private static let addressesMax = 8

    init(
        loop: EventLoop, name: String, timeoutMilliseconds: UInt64,
        completion: @escaping (Result<TCPConnection, TransportError>) -> Void
    ) {
        self.loop = loop
        self.name = name
        self.timeoutMilliseconds = timeoutMilliseconds
        self.completion = completion
    }

    func lookUp(_ host: String, port: Int) throws(TransportError) {
        guard (0...65_535).contains(port) else { throw TransportError(uvCode: UV_EINVAL.rawValue, doing: name) }
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        request.pointee.data = Unmanaged.passRetained(self).toOpaque()
        var hints = addrinfo()
        hints.ai_family = source?.family ?? AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let result = uv_getaddrinfo(
            loop.uvLoop, request,
            { request, status, found in
                let request = request.unsafelyUnwrapped
                let attempt = Unmanaged<ConnectionAttempt>.fromOpaque(request.pointee.data).takeRetainedValue()
                request.deallocate()
                attempt.didLookUp(status, found)
                uv_freeaddrinfo(found)
            }, host, String(port), &hints)
        guard result == 0 else {
            Unmanaged.passUnretained(self).release()
            request.deallocate()
            throw TransportError(uvCode: result, doing: name)
        }
    }

    private func didLookUp(_ status: Int32, _ found: UnsafeMutablePointer<addrinfo>?) {
        var addresses: [SocketAddress] = []
        var next = status == 0 ? found : nil
        while let entry = next, addresses.count < Self.addressesMax {
            if let address = entry.pointee.ai_addr.flatMap({ SocketAddress(copying: $0) }) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            return complete(
                .failure(TransportError(uvCode: status == 0 ? UV_EAI_NONAME.rawValue : status, doing: name)))
        }
        connect(toFirstOf: addresses)
    }

    /// Connects to the first of the addresses that takes the connection.
    func connect(toFirstOf addresses: [SocketAddress]) {
        others = addresses[...]
        until = loop.nowMilliseconds + timeoutMilliseconds
        guard let first = others.popFirst() else { return }
        connect(to: first)
    }

    /// An address has failed at once: the caller's call may not have returned yet.
    private func failed(_ code: Int32) {
        if !triesNext() { end(.failure(TransportError(uvCode: code, doing: name))) }
    }

    /// Goes on with the next address; false if there is none.
    private func triesNext() -> Bool {
        connection?.close()
        connection = nil
        guard let next = others.popFirst() else { return false }
        connect(to: next)
        return true
    }

    private func connect(to address: SocketAddress) {
        let descriptor =
            source.map { source in
                source.withPointer { chatroom_outgoing_socket(address.family, $0, source.length) }
            } ?? chatroom_outgoing_socket(address.family, nil, 0)
        guard descriptor >= 0 else { return failed(descriptor) }
        if let limits = receiveLimits {
            let result = limits.apply(to: descriptor)
            guard result == 0 else {
                chatroom_close(descriptor)
                return failed(result)
            }
        }
        let connection = TCPConnection(loop: loop)
        let openResult = connection.open(descriptor)
        guard openResult == 0 else {
            chatroom_close(descriptor)
            connection.close()
            return failed(openResult)
        }
        self.connection = connection
        let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
        request.pointee.data = Unmanaged.passRetained(self).toOpaque()
        let result = address.withPointer { address in
            uv_tcp_connect(request, connection.tcp, address) { request, status in
                let request = request.unsafelyUnwrapped
                let attempt = Unmanaged<ConnectionAttempt>.fromOpaque(request.pointee.data).takeRetainedValue()
                request.deallocate()
                attempt.didConnect(status)
            }
        }
        guard result == 0 else {
            Unmanaged.passUnretained(self).release()
            request.deallocate()
            return failed(result)
        }
        let left = until > loop.nowMilliseconds ? until - loop.nowMilliseconds : 0
        hasTimedOut = false
        timer = loop.schedule(afterMilliseconds: left / UInt64(others.count + 1)) { [unowned self] in
            hasTimedOut = true
            connection.close()
        }
    }

    private func didConnect(_ status: Int32) {
        timer?.cancel()
        timer = nil
        guard status == 0, let connection else {
            let code = hasTimedOut ? UV_ETIMEDOUT.rawValue : status
            // A loop that shuts down has cancelled it, and gets no new handle.
            if code == UV_ECANCELED.rawValue { others = [] }
            if !triesNext() { complete(.failure(TransportError(uvCode: code, doing: name))) }
            return
        }
        connection.readPeerAddress()
        complete(.success(connection))
    }

    /// Completes later: the caller's call has not returned yet.
    func end(_ result: Result<TCPConnection, TransportError>) {
        loop.executeLater { self.complete(result) }
    }

    private func complete(_ result: Result<TCPConnection, TransportError>) {
        connection = nil
        let completion = self.completion
        self.completion = nil
        completion?(result)
    }
}
