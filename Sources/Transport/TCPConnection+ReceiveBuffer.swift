internal import CUV

extension TCPConnection {
    /// Asks the system to keep at most about `bytes` that were not read, so that the peer has to wait soon. The system
    /// has its own least and may double it; what it refuses stays as it was.
    public func setReceiveBuffer(bytes: Int) {
        checkOnLoop()
        guard !isClosing else { return }
        var value = Int32(clamping: bytes)
        uv_recv_buffer_size(UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_handle_t.self), &value)
    }
}
