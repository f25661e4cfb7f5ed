import ClientCore
import ChatModel
import Wire

/// The sending of content to a gateway: one PUT.
struct MediaTransfer: Sendable {
    var address: GatewayAddress
    var tls: TLSOptions
    /// Path and query, as the place says them.
    var target: String
    var headers: [(name: String, value: String)]
    var content: [UInt8]
    var connectMilliseconds: Int64
    /// Told how many of the bytes are on their way.
    var progress: @Sendable (Int) -> Void

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
