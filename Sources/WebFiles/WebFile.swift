import Deflate
import HTTPWebSocket

/// A file for browsers that is part of the program. It is compressed once, and a browser that has it already is told so.
public struct WebFile: Sendable {
    /// The path under which it is served.
    public let path: String
    private let contentType: String
    private let content: [UInt8]
    private let compressed: [UInt8]?
    /// Another content has another one (RFC 9110 §8.8.3).
    private let etag: String
    private let headers: [HTTPHeader]

    /// The kind follows from the end of the file's name. Scripts and styles are served without their comments
    /// (`SourceLines`).
    /// - Parameters:
    ///   - policy: the content security policy of a page, and of everything else that a browser may open as one.
    ///   - isForOthers: whether pages of other origins may read it.
    public init(path: String, name: String, content: [UInt8], policy: String, isForOthers: Bool = false) {
        self.path = path
        let isCode = name.hasSuffix(".js") || name.hasSuffix(".css")
        let content = isCode ? SourceLines.shortened(content) : content
        self.content = content
        contentType = Self.contentType(ofFile: name)
        compressed = Gzip.compressed(content)
        etag = "\"\(String(Self.hash(content), radix: 16))\""
        var headers = [
            // Asked for again each time: files belong to this version of the node.
            HTTPHeader(name: "Cache-Control", value: "no-cache"),
            HTTPHeader(name: "ETag", value: etag),
            HTTPHeader(name: "Vary", value: "Accept-Encoding"),
            HTTPHeader(name: "Referrer-Policy", value: "no-referrer"),
            HTTPHeader(name: "Content-Security-Policy", value: policy),
        ]
        if isForOthers { headers.append(HTTPHeader(name: "Access-Control-Allow-Origin", value: "*")) }
        self.headers = headers
    }

    /// An answer before it becomes bytes.
    public struct Answer: Sendable {
        public var status: Int
        public var reason: String
        public var contentType: String
        public var headers: [HTTPHeader]
        public var body: [UInt8]
    }

    /// - Parameters:
    ///   - acceptEncoding: the header of that name, if there is one.
    ///   - ifNoneMatch: likewise.
    public func answer(acceptEncoding: String?, ifNoneMatch: String?) -> Answer {
        let known = ifNoneMatch?.split(separator: ",").map { $0.drop { $0 == " " } } ?? []
        if known.contains(where: { $0 == etag[...] || $0 == "W/" + etag || $0 == "*" }) {
            return Answer(status: 304, reason: "Not Modified", contentType: contentType, headers: headers, body: [])
        }
        guard let compressed, Self.takesGzip(acceptEncoding) else {
            return Answer(status: 200, reason: "OK", contentType: contentType, headers: headers, body: content)
        }
        return Answer(
            status: 200, reason: "OK", contentType: contentType,
            headers: headers + [HTTPHeader(name: "Content-Encoding", value: "gzip")], body: compressed)
    }

    /// Whether `gzip` is listed, and not with a weight of zero (RFC 9110 §12.5.3).
    static func takesGzip(_ accepted: String?) -> Bool {
        (accepted ?? "").split(separator: ",").contains { item in
            let parts = item.split(separator: ";").map { part in part.filter { $0 != " " }.lowercased() }
            return parts.first == "gzip"
                && !parts.dropFirst().contains { $0.hasPrefix("q=0") && Double($0.dropFirst(2)) == 0 }
        }
    }

    static func contentType(ofFile name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        case "json": "application/json"
        default: "text/plain; charset=utf-8"
        }
    }

    /// FNV-1a, 64 bits: tells contents of one program apart, and proves nothing.
    private static func hash(_ content: [UInt8]) -> UInt64 {
        content.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
