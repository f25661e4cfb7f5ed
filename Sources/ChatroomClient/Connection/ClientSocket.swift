import ChatModel
import ClientCore
import Wire

/// One WebSocket of a client, from the attempt to open it to its end. There is one kind for each platform, made by
/// `PlatformSocket.open`; all else in this module is the same everywhere.
///
/// The client's actor calls it, in order, and every call returns at once. Its events go to the ``SocketMailbox`` that
/// it was opened with, in order too.
protocol ClientSocket: Sendable {
    /// Sends text messages, one after the other. Not before it is open.
    /// - Parameter whenSent: called once, from anywhere, when this side waits no longer for the system to take them;
    ///   also when they are lost.
    func send(_ texts: [[UInt8]], whenSent: @escaping @Sendable () -> Void)

    /// Reads on, after the mailbox was full.
    func readOn()

    /// Ends it; nothing more is told.
    /// - Parameter code: what the close frame says; nil: no close frame.
    func close(code: UInt16?)
}

/// An event on a socket.
enum SocketEvent: Sendable, Hashable {
    /// The handshake has succeeded. The first, if it comes.
    case opened
    /// Bytes came, of whatever kind.
    case heard
    /// A text message came.
    case text([UInt8])
    /// The bytes that came break RFC 6455, or are no text.
    case broken(String)
    /// It is gone, or did not come about. The last, exactly once. The code of the close frame, if one came.
    case closed(code: UInt16?, reason: String)

    /// The same for the core. A text becomes what it says.
    func appendInputs(connection: UInt64, to inputs: inout [ClientInput]) {
        switch self {
        case .opened: inputs.append(.opened(connection: connection))
        case .heard: inputs.append(.heard(connection: connection))
        case .broken(let what): inputs.append(.broken(connection: connection, what))
        case .closed(let code, let reason):
            inputs.append(.closed(connection: connection, code: code, reason: reason))
        case .text(let text):
            do throws(ChatError) {
                try text.withUnsafeBufferPointer { text throws(ChatError) in
                    try ServerFrame.items(inJSON: UnsafeRawBufferPointer(text)) {
                        inputs.append(.received(connection: connection, $0))
                    }
                }
            } catch {
                inputs.append(.broken(connection: connection, error.message))
            }
        }
    }

    /// Its size against the bound of the mailbox.
    var bytes: Int {
        switch self {
        case .text(let text): text.count + 64
        case .opened, .heard, .broken, .closed: 64
        }
    }

    /// The subprotocol that the client speaks.
    static let subprotocol = "chatroom.v1.json"
    /// The largest message: coalesced pushes and a reply with 100 missed messages may be large.
    static let messageBytesMax = 64 << 20
}
