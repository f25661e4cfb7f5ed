internal import CUV
public import TLS

/// TLS on a connection: what is read is opened, what is written is sealed, on the loop, with the same back-pressure as
/// without. At most the sealed form of ``TLSSession/seal(_:)``'s share of one buffer waits here, besides that buffer.
extension TCPConnection {
    /// Begins TLS. To be called by the owner before it starts reading; a client's handshake begins here, a server's with
    /// the first bytes that come. The handler hears of opened bytes only; a failure closes the connection.
    ///
    /// - Parameter output: of this connection's loop.
    public func secure(with context: TLSContext, output: TLSOutput) throws(TLSError) {
        let session = try TLSSession(context, output: output)
        secure(session)
        guard context.isClient else { return }
        if case .failed(let error) = session.begin() { throw error }
        sendSealed(session)
    }

    /// With TLS, sealed bytes that wait here for the socket; 0 without.
    public var sealedByteCount: Int {
        guard tls != nil else { return 0 }
        return (bytesInFlight?.count ?? 0) + sealedWaiting.count
    }

    /// Sealed bytes have come.
    func receiveSealed(_ bytes: UnsafeRawBufferPointer, _ tls: TLSSession) {
        let outcome = tls.receive(bytes, flush: { sendSealed(tls) }) { opened in
            guard isOpen else { return }
            handler?.connection(self, didRead: opened)
        }
        sendSealed(tls)
        switch outcome {
        case .open:
            // The handshake may have ended; the bytes that wait can go on.
            if bytesInFlight == nil, unsealed != nil { _ = continuesSealed() }
        case .ended: peerDidEnd(code: UV_EOF.rawValue)
        case .failed: peerDidEnd(code: UV_EPROTO.rawValue)
        }
    }

    /// Hands over what was sealed last, behind what waits.
    private func sendSealed(_ tls: TLSSession) {
        tls.output.take { sealed in
            guard !isClosing else { return }
            guard bytesInFlight == nil else {
                guard sealedWaiting.count + sealed.count <= Self.sealedWaitingMax else {
                    // Only a peer gets here that asks again and again for answers of the protocol and reads none.
                    return close(code: UV_ENOBUFS.rawValue)
                }
                return sealedWaiting.append(contentsOf: sealed)
            }
            var buffer = uv_buf_t(
                base: UnsafeMutablePointer(mutating: sealed.baseAddress?.assumingMemoryBound(to: CChar.self)),
                len: sealed.count)
            let count = taken(uv_try_write(stream, &buffer, 1))
            guard count < sealed.count, !isClosing else { return }
            startWrite(SharedBytes(copying: UnsafeRawBufferPointer(rebasing: sealed[count...])))
        }
    }

    /// Seals and offers as much as the system takes. Returns how much of the plain bytes is on its way.
    func trySealed(_ bytes: UnsafeRawBufferPointer) -> Int {
        checkOnLoop()
        guard let tls else { return 0 }
        var count = 0
        while count < bytes.count, !isWriting, isOpen {
            let sealed = tls.seal(UnsafeRawBufferPointer(rebasing: bytes[count...]))
            guard sealed > 0 else { break }
            count += sealed
            sendSealed(tls)
        }
        return count
    }

    func trySealed(_ buffers: ArraySlice<SharedBytes>, firstFrom offset: Int) -> Int {
        var total = 0
        var skipped = offset
        for bytes in buffers {
            let rest = UnsafeRawBufferPointer(start: bytes.base + skipped, count: bytes.count - skipped)
            let count = trySealed(rest)
            total += count
            guard count == rest.count else { break }
            skipped = 0
        }
        return total
    }

    func writeSealing(_ bytes: SharedBytes, from offset: Int) {
        precondition(unsealed == nil, "one write at a time")
        guard isOpen else { return }
        unsealed = (bytes, offset)
        if bytesInFlight == nil { _ = continuesSealed() }
    }

    /// Goes on with what waits, when the last `uv_write` has ended. Returns whether there is more to wait for.
    func continuesSealed() -> Bool {
        guard let tls else { return false }
        if !sealedWaiting.isEmpty {
            let waiting = sealedWaiting
            sealedWaiting = []
            startWrite(SharedBytes(copying: waiting))
            return true
        }
        if let (bytes, offset) = unsealed {
            let rest = UnsafeRawBufferPointer(start: bytes.base + offset, count: bytes.count - offset)
            let count = tls.seal(rest)
            // Without the handshake done there is nothing to send; its end brings this here again.
            guard count > 0 else { return true }
            unsealed = count < rest.count ? (bytes, offset + count) : nil
            // Always by libuv, so that the end is reported, and never during the call that began it.
            tls.output.take { startWrite(SharedBytes(copying: $0)) }
            return true
        }
        if case .ending(let milliseconds) = life {
            end(withinMilliseconds: milliseconds)
            return true
        }
        return false
    }

    /// Tells the peer that no more comes, if everything before that is sealed, and offers it to the socket, which may
    /// close the connection.
    /// - Returns: whether nothing of it waits here any more.
    func endSealing(_ tls: TLSSession) -> Bool {
        guard unsealed == nil else { return false }
        tls.end()
        sendSealed(tls)
        return bytesInFlight == nil || sealedWaiting.isEmpty
    }

    private static let sealedWaitingMax = 64 * 1024
}
