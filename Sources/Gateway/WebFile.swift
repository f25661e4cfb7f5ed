import HTTPWebSocket
import Wire

/// The files of `Web` that the client port serves to browsers: the SDK and a plain page that uses it. The build embeds
/// them in the program, so that no file is read at run time.
enum WebFile: CaseIterable {
    case page, demo, sdk

    /// Where it is served.
    var path: String {
        switch self {
        case .page: "/"
        case .demo: "/demo.js"
        case .sdk: "/chatroom.js"
        }
    }

    private var contentType: String {
        switch self {
        case .page: "text/html; charset=utf-8"
        case .demo, .sdk: "text/javascript; charset=utf-8"
        }
    }

    private var content: [UInt8] {
        switch self {
        case .page: PackageResources.index_html
        case .demo: PackageResources.demo_js
        case .sdk: PackageResources.chatroom_js
        }
    }

    private var headers: [HTTPHeader] {
        // Asked for again each time: the SDK belongs to this version of the node.
        let common = [
            HTTPHeader(name: "Cache-Control", value: "no-cache"),
            HTTPHeader(name: "X-Content-Type-Options", value: "nosniff"),
        ]
        switch self {
        case .page:
            let policy =
                "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self' ws: wss:; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            return common + [HTTPHeader(name: "Content-Security-Policy", value: policy)]
        // A page of another origin may import the SDK; whether it may connect is for `allowedOrigins`.
        case .sdk: return common + [HTTPHeader(name: "Access-Control-Allow-Origin", value: "*")]
        case .demo: return common
        }
    }

    /// The answer to a request that does not ask for WebSocket; the connection is closed after it.
    static func response(to request: UpgradeRequest) -> [UInt8] {
        guard let file = allCases.first(where: { $0.path == request.path }) else {
            return HTTPResponse.plain(status: 404, reason: "Not Found")
        }
        guard request.method == "GET" else {
            let allow = HTTPHeader(name: "Allow", value: "GET")
            return HTTPResponse.plain(status: 405, reason: "Method Not Allowed", headers: [allow])
        }
        return HTTPResponse.build(
            status: 200, reason: "OK", headers: file.headers, contentType: file.contentType,
            body: file.content)
    }
}
