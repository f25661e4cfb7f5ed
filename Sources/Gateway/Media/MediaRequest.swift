import ChatModel
import HTTPWebSocket

/// A request for content, taken apart. `/v1/media/{room}/{mediaId}`, the room percent-encoded.
struct MediaRequest: Sendable {
    static let prefix = "/v1/media/"

    var method: String
    var room: RoomID
    var id: String
    /// In the query, as `token` or, for sending, `upload`.
    var token: String?
    var bearer: String?
    var range: String?
    var ifRange: String?
    var ifNoneMatch: String
    /// Bytes that follow the head.
    var length: Int64
    var expectsContinue: Bool

    /// nil for a path that names no content.
    init?(_ request: UpgradeRequest) {
        guard request.path.utf8.starts(with: Self.prefix.utf8) else { return nil }
        let parts = request.path.dropFirst(Self.prefix.utf8.count).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let name = Self.decoded(parts[0]), let room = RoomID(name),
            let id = MediaID(String(parts[1]))
        else { return nil }
        method = request.method
        self.room = room
        self.id = id.text
        token = Self.value(of: request.method == "PUT" ? "upload" : "token", in: request.query)
        let authorization = request.header("authorization") ?? ""
        let isBearer = authorization.prefix(7).lowercased() == "bearer "
        bearer = isBearer ? String(authorization.dropFirst(7).drop { $0 == " " }) : nil
        range = request.header("range")
        ifRange = request.header("if-range")
        ifNoneMatch = request.header("if-none-match") ?? ""
        length = Int64(request.streamedBytes)
        expectsContinue = request.tokens("expect").contains("100-continue")
    }

    private static func value(of name: String, in query: String) -> String? {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return decoded(parts[1]) }
        }
        return nil
    }

    /// nil for what is no percent-encoded UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
