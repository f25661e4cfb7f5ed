/// The receiver of a connection's events. All calls come on the loop of the connection, without a task.
public protocol ConnectionHandler: AnyObject {
    /// Bytes have come. `bytes` is valid during the call only: its memory is shared by all connections of the loop.
    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer)

    /// The system does not take all that was written, or that TLS has to say: something waits until it does. May be called
    /// again before that.
    func connectionDoesWait(_ connection: TCPConnection)

    /// The bytes that ``TCPConnection/write(_:from:)`` took have been handed to the system in full.
    func connectionDidDrain(_ connection: TCPConnection)

    /// The connection is no more. The last call, and exactly one for each connection.
    ///
    /// - Parameter error: nil when this side closed it; `endOfStream` when the peer did.
    func connectionDidClose(_ connection: TCPConnection, error: TransportError?)
}

extension ConnectionHandler {
    public func connectionDoesWait(_ connection: TCPConnection) {}
}
