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
        file("chat-room.css", PackageResources.chat_room_css),
        file("chat-room.js", PackageResources.chat_room_js),
        file("chat.css", PackageResources.chat_css),
        file("chat.js", PackageResources.chat_js),
        file("chatroom.d.ts", PackageResources.chatroom_d_ts),
        file("chatroom.js", PackageResources.chatroom_js),
        file("index.html", PackageResources.index_html, at: "/", isForOthers: false),
        file("ledger.js", PackageResources.ledger_js),
        file("page.js", PackageResources.page_js),
        file("people.css", PackageResources.people_css),
        file("people.js", PackageResources.people_js),
        file("qr.js", PackageResources.qr_js),
        file("seats.css", PackageResources.seats_css),
        file("seats.js", PackageResources.seats_js),
        file("stage.css", PackageResources.stage_css),
        file("stage.js", PackageResources.stage_js),
        file("words.js", PackageResources.words_js),
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
