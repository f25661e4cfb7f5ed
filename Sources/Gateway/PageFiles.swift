import HTTPWebSocket
import WebFiles

/// The files of `Web` that the client port serves to browsers: the SDK, and the live room that uses it. The build embeds
/// them in the program, so that no file is read at run time.
struct PageFiles: Sendable {
    private static let page = "index.html"

    /// A page of another origin may import the SDK and the element; whether it may connect is for `allowedOrigins`.
    private let all: [WebFile]

    /// - Parameter mediaOrigin: to which the page sends content; nil: its own.
    init(mediaOrigin: String?) {
        // Scripts and styles are files of this origin only; pictures and sounds that people send may be anywhere. When
        // this node ends, the page sends and reads content at another one, without TLS where the cluster has none.
        let store = mediaOrigin.map { " " + $0 } ?? ""
        let policy =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' http: https: data: blob:\(store); "
            + "media-src 'self' http: https: blob:\(store); connect-src 'self' http: https: ws: wss:\(store); "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        all = EmbeddedFile.pages.map { file in
            WebFile(
                path: file.name == Self.page ? "/" : "/\(file.name)", name: file.name, content: file.content,
                policy: policy, isForOthers: file.name != Self.page)
        }
    }

    /// The answer to a request that does not ask for WebSocket; the connection is closed after it.
    func response(to request: UpgradeRequest) -> [UInt8] {
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
