/// In the place of a socket that could not be made.
struct NoSocket: ClientSocket {
    func send(_ texts: [[UInt8]], whenSent: @escaping @Sendable () -> Void) { whenSent() }
    func readOn() {}
    func close(code: UInt16?) {}
}
