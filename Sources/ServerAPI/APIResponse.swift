import ChatModel
import Wire

/// An answer of the server API before it becomes bytes on a connection.
struct APIResponse: Sendable, Hashable {
    var status: Int
    var contentType: String
    var headers: [String: String] = [:]
    var body: [UInt8]
    /// The stream behind `body`; `nil` for nearly all answers.
    var stream: APIResponseStream?
    /// The room that the call was about, where its path names none.
    var room: String?

    static let jsonType = "application/json"
    /// A JSON value a line (JSON lines).
    static let linesType = "application/x-ndjson"
    /// The Prometheus text exposition format.
    static let metricsType = "text/plain; version=0.0.4; charset=utf-8"

    init(status: Int = 200, contentType: String = APIResponse.jsonType, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// `{}`: done, and nothing to tell.
    static let done = APIResponse(body: Array("{}".utf8))

    /// A refusal: `{"error":{…}}`, its HTTP status and `Retry-After` in whole seconds, rounded up.
    init(_ error: ChatError) {
        self.init(status: error.code.httpStatus, body: WireJSON.encode(ErrorView(error: error)))
        if let milliseconds = error.retryAfterMs {
            let (seconds, rest) = max(0, milliseconds).quotientAndRemainder(dividingBy: 1000)
            headers["Retry-After"] = String(rest > 0 ? seconds + 1 : seconds)
        }
        if error.code == .unauthorized { headers["WWW-Authenticate"] = "Bearer" }
    }
}
