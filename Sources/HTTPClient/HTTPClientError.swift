/// Why a call got no answer. It names neither address nor headers.
public struct HTTPClientError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// No `http` or `https` URL, or headers that HTTP does not have.
        case request
        /// The host's name has no address.
        case unknownName
        /// No connection: nobody listens, or there is no way.
        case noConnection
        /// All addresses of the host are private ones, and the client's configuration refuses those.
        case privateAddress
        /// No TLS, or a certificate that is not trusted or is another host's.
        case notTrusted
        /// Nothing whole came in time.
        case timeout
        /// The answer's headers or its body were longer than they may be.
        case tooLarge
        /// The connection ended before the whole answer had come.
        case connectionClosed
        /// The server speaks something that is not HTTP.
        case notHTTP
        /// Too many calls wait already.
        case busy
        /// The caller has cancelled it.
        case cancelled
        /// The client has been shut down.
        case shutDown
        /// libcurl has no memory or no file descriptor for it, or something that is not among the others.
        case other
    }

    public var code: Code
    /// Nothing of the request has left this machine: the same call elsewhere cannot do anything twice.
    public var nothingSent: Bool
    /// A sentence for the log.
    public var description: String

    init(_ code: Code, nothingSent: Bool = true, _ description: String) {
        self.code = code
        self.nothingSent = nothingSent
        self.description = description
    }
}
