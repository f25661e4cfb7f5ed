import HTTPWebSocket
import WebFiles

/// The files of `Web` that the client port serves to browsers: the SDK, and the live room that uses it. The build embeds
/// them in the program, so that no file is read at run time.
enum PageFiles {
    /// Scripts and styles are files of this origin only; pictures and sounds that people send may be anywhere.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data: blob:; "
        + "media-src https: blob:; connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// - Parameter isForOthers: a page of another origin may import the SDK and the element; whether it may connect is for
    ///   `allowedOrigins`.
    private static func file(_ name: String, _ content: [UInt8], at path: String? = nil, isForOthers: Bool = true) -> WebFile {
        WebFile(path: path ?? "/\(name)", name: name, content: content, policy: policy, isForOthers: isForOthers)
    }

    static let all: [WebFile] = [
        file("index.html", PackageResources.index_html, at: "/", isForOthers: false),
        file("chatroom.js", PackageResources.chatroom_js),
        file("words.js", PackageResources.words_js),
        file("chat-room.css", PackageResources.chat_room_css),
    ]

    /// The answer to a request that does not ask for WebSocket; the connection is closed after it.
    static func response(to request: UpgradeRequest) -> [UInt8] {
        guard let file = all.first(where: { $0.path == request.path }) else {
            return HTTPResponse.plain(status: 404, reason: "Not Found")
        }
        guard request.method == "GET" else {
            let allow = HTTPHeader(name: "Allow", value: "GET")
            return HTTPResponse.plain(status: 405, reason: "Method Not Allowed", headers: [allow])
        }
        let answer = file.answer(
            acceptEncoding: request.header("accept-encoding"), ifNoneMatch: request.header("if-none-match"))
        return HTTPResponse.build(
            status: answer.status, reason: answer.reason, headers: answer.headers, contentType: answer.contentType,
            body: answer.body)
    }
}
