import ChatModel
import Wire

/// An input of the client: everything that the core learns.
package enum ClientInput: Sendable {
    /// The app wants to be connected; answered when that is so, or the client has failed.
    case start(ticket: UInt64)
    /// The app has done.
    case stop
    /// The addresses that the provider gave; nil when it failed.
    case addresses(attempt: UInt64, [String]?)
    /// The token that the provider gave; nil when it failed.
    case token(attempt: UInt64, String?)
    /// The token that the provider gave for a session that is connected.
    case renewedToken(String?)
    /// The WebSocket is open.
    case opened(connection: UInt64)
    /// Bytes came, of whatever kind.
    case heard(connection: UInt64)
    /// Something was said.
    case received(connection: UInt64, ServerItem)
    /// A frame that is no JSON came, or RFC 6455 was broken.
    case broken(connection: UInt64, String)
    /// The connection is gone, or did not come about. The code of the close frame, if one came.
    case closed(connection: UInt64, code: UInt16?, reason: String)
    /// The app wants to be in a room.
    case enter(ticket: UInt64, RoomID, EnterOptions)
    /// The app leaves a room.
    case exit(ticket: UInt64, RoomID)
    /// The app asks for something else. A change carries its `clientId` in the operation.
    case perform(ticket: UInt64, ClientOperation)
    /// A barrage without an answer.
    case barrage(BarrageRequest)
    /// Taps without an answer.
    case tap(TapRequest)
    /// The time given by `nextDeadline` has come.
    case deadline
}

/// An action that follows, in order.
package enum ClientEffect: Sendable, Hashable {
    /// Ask the address provider; answer with `addresses`.
    case findAddresses(attempt: UInt64)
    /// Ask the token provider; answer with `token`.
    case fetchToken(attempt: UInt64)
    /// Ask the token provider; answer with `renewedToken`.
    case renewToken
    /// Open a WebSocket; answer with `opened` or `closed`.
    case open(connection: UInt64, url: String)
    /// Send a request.
    case write(connection: UInt64, ClientRequest)
    /// Close the connection; nothing more of it is wanted.
    case close(connection: UInt64, code: UInt16)
    /// Answer the app.
    case complete(ticket: UInt64, Result<ClientAnswer, ClientError>)
    /// Tell the consumers of a room's events.
    case roomEvent(RoomID, RoomEvent)
    /// No more events of this stay.
    case stayEnded(RoomID)
    /// Tell the consumers of the client's events.
    case clientEvent(ClientEvent)
    case log(LogLevel, String)
}

/// An answer to the app.
package enum ClientAnswer: Sendable, Hashable {
    case result(OperationResult)
    case entered(RoomEntry)
    case done
}
