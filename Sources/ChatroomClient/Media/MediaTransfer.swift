import ChatModel
import ClientCore
import Wire

/// The sending of content to its place: by one PUT to a gateway, or to a store elsewhere.
struct MediaTransfer: Sendable {
    var address: GatewayAddress
    /// Every gateway of the cluster takes it.
    var isAtGateway: Bool
    var tls: TLSOptions
    /// Path and query.
    var target: String
    var headers: [(name: String, value: String)]
    var content: [UInt8]
    var connectMilliseconds: Int64
    /// A sending of which nothing is taken or answered for so long is broken off (as `STALL_MS` of the JavaScript client).
    var stallSeconds = 120
    /// Told how many of the bytes are on their way.
    var progress: @Sendable (Int) -> Void

    /// - Parameter url: of the place: relative to the gateway, or absolute.
    init(
        to url: String, at gateway: GatewayAddress, _ settings: ClientSettings, tls: TLSOptions,
        headers: [(name: String, value: String)], content: [UInt8], progress: @escaping @Sendable (Int) -> Void
    ) throws(ClientError) {
        let isAbsolute = url.hasPrefix("https://") || url.hasPrefix("http://")
        isAtGateway = !isAbsolute
        address = isAbsolute ? try GatewayAddress("ws" + url.dropFirst("http".count)) : gateway
        target = isAbsolute ? address.target : url
        self.tls = tls
        self.headers = headers
        self.content = content
        connectMilliseconds = settings.connectMilliseconds
        self.progress = progress
    }

    private static let triesMax = 3
    private static let waitMillisecondsMax: Int64 = 5_000

    /// Sends until the server has all of it. A place takes content once: after a sending that broke off, "sent already" is the
    /// answer that was lost.
    /// - Parameter gateway: where a further try of a place at a gateway goes: the node may be gone.
    mutating func runRepeatedly(
        at gateway: @Sendable () async throws(ClientError) -> GatewayAddress
    ) async throws(ClientError) {
        var isBroken = false
        for tries in 1...Self.triesMax {
            var wait = Int64(tries) * 500
            do throws(ClientError) {
                return try await run()
            } catch {
                if isBroken, error.refusal?.code == .conflict { return }
                if error.code == .connectionLost { isBroken = true }
                let retryAfter = error.refusal?.code == .unavailable ? error.refusal?.retryAfterMs ?? 0 : nil
                guard tries < Self.triesMax, error.code == .connectionLost || retryAfter != nil,
                    retryAfter ?? 0 <= Self.waitMillisecondsMax
                else { throw error }
                wait = max(wait, retryAfter ?? 0)
            }
            guard (try? await Task.sleep(nanoseconds: UInt64(wait) * 1_000_000)) != nil else { throw Self.cancelled }
            if isAtGateway { address = try await gateway() }
        }
    }

    static let cancelled = ClientError(.cancelled, "the task was cancelled")
    static let brokenOff = ClientError(.connectionLost, "the upload was broken off; it can begin anew")

    /// Throws what an answer says, unless it is 200.
    static func check(status: Int, body: [UInt8]) throws(ClientError) {
        guard status != 200 else { return }
        guard let view = try? WireJSON.decode(ErrorView.self, from: body, limits: false) else {
            throw ClientError(.connectionFailed, "the upload was answered with \(status)")
        }
        throw ClientError(view.error)
    }
}
