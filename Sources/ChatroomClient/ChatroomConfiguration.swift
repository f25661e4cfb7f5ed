import ChatModel
import ClientCore

/// Everything that an app tells its client before connecting.
public struct ChatroomConfiguration: Sendable {
    /// URLs of gateways, best first: `wss://chat.example.com/v1/ws`. Without a path, `/v1/ws` is meant. Used beside
    /// what the address provider gives and the server names.
    public var gateways: [String]
    /// Asked at the first connect and at each reconnect. It has ``ClientSettings/providerMilliseconds``; then, or if it throws or gives nothing, the last
    /// known gateways are used.
    public var addressProvider: (@Sendable () async throws -> [String])?
    /// Asked at every login, and when the token ends. It has ``ClientSettings/providerMilliseconds``. Needed unless `settings.anonymous`.
    public var tokenProvider: (@Sendable () async throws -> String)?
    /// Numbers: retries, waits, bounds.
    public var settings = ClientSettings()
    /// How `wss://` is checked.
    public var tls = TLSOptions()
    /// Called around each send.
    public var sendHooks: any SendHooks = NoSendHooks()
    /// Notifications for which it returns true are not told to anybody (they keep their place in the order). Those of
    /// later versions are asked for too: their `data` is `unknown`, with the code.
    public var ignoresNotification: (@Sendable (RoomID, Notification) -> Bool)?
    /// Lower levels are not logged.
    public var logLevel = LogLevel.warning
    /// Gets the log; called in order, and must not block.
    public var logHandler: (@Sendable (LogLevel, String) -> Void)?
    /// Events that wait for one slow consumer. Beyond it they are summarised: a `gap` with cause `consumer`, and
    /// `skipped`.
    public var waitingEventsMax = 1_024

    public init(gateways: [String] = []) { self.gateways = gateways }
}

/// How a server's certificate is checked.
public struct TLSOptions: Sendable {
    /// Certificates in PEM that are trusted instead of the system's.
    public var trustedCertificatesPEM: [UInt8]?
    /// Whether the certificate is checked at all; false only against one's own machine.
    public var verifiesCertificates = true

    public init() {}
}
