import ChatModel
import HTTPWebSocket
import Media
import Wire

/// The heads of answers about content (PROTOCOL.md, "Media").
struct MediaAnswer: Sendable {
    /// The origin of a page that may read the answer; nil for a request without one, or of an own page.
    var origin: String?

    /// The head of content, and the bytes that follow it; nil: none.
    func head(
        of content: any MediaContent, _ request: MediaRequest
    ) -> (bytes: [UInt8], part: Range<Int64>?) {
        let etag = "\"\(content.digest)\""
        var headers = shared + [HTTPHeader(name: "ETag", value: etag)]
        if request.ifNoneMatch.contains(etag) || request.ifNoneMatch == "*" {
            return (HTTPResponse.head(304, "Not Modified", headers), nil)
        }
        headers.append(HTTPHeader(name: "Accept-Ranges", value: "bytes"))
        // A part of another content than the reader has is of no use to it.
        let range = request.ifRange.map { $0 == etag } ?? true ? request.range : nil
        let part: Range<Int64>
        var status = (200, "OK")
        switch ByteRange(range, size: content.size) {
        case .all: part = 0..<content.size
        case .part(let range):
            part = range
            status = (206, "Partial Content")
            let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(content.size)"
            headers.append(HTTPHeader(name: "Content-Range", value: value))
        case .outside:
            headers.append(HTTPHeader(name: "Content-Range", value: "bytes */\(content.size)"))
            headers.append(HTTPHeader(name: "Content-Length", value: "0"))
            return (HTTPResponse.head(416, "Range Not Satisfiable", headers), nil)
        }
        headers += [
            HTTPHeader(
                name: "Content-Type", value: ContentTypes.shown(content.contentType, isInline: content.isInline)),
            HTTPHeader(
                name: "Content-Disposition",
                value: ContentTypes.disposition(ofName: content.name, isInline: content.isInline)),
            HTTPHeader(name: "Content-Length", value: "\(part.count)"),
        ]
        return (HTTPResponse.head(status.0, status.1, headers), request.method == "HEAD" ? nil : part)
    }

    /// In every answer: nothing of it is a document, and it is this reader's alone.
    private var shared: [HTTPHeader] {
        [
            HTTPHeader(name: "X-Content-Type-Options", value: "nosniff"),
            HTTPHeader(name: "Content-Security-Policy", value: "sandbox; default-src 'none'"),
            HTTPHeader(name: "Referrer-Policy", value: "no-referrer"),
            HTTPHeader(name: "Cache-Control", value: "private, max-age=60"),
            HTTPHeader(name: "Connection", value: "close"),
        ] + crossOrigin
    }

    private var crossOrigin: [HTTPHeader] {
        // Also where there is no origin: a browser may keep the answer for a page that asks with one.
        guard let origin else { return [HTTPHeader(name: "Vary", value: "Origin")] }
        return [
            HTTPHeader(name: "Access-Control-Allow-Origin", value: origin),
            HTTPHeader(name: "Access-Control-Expose-Headers", value: "ETag, Content-Range, Content-Disposition"),
            HTTPHeader(name: "Vary", value: "Origin"),
        ]
    }

    /// The content is elsewhere, for a minute. The answer is kept by nobody: it holds no longer than the right to read.
    func redirect(to url: String) -> [UInt8] {
        HTTPResponse.head(
            302, "Found",
            [
                HTTPHeader(name: "Location", value: url), HTTPHeader(name: "Content-Length", value: "0"),
                HTTPHeader(name: "Cache-Control", value: "no-store"),
                HTTPHeader(name: "Referrer-Policy", value: "no-referrer"),
                HTTPHeader(name: "X-Content-Type-Options", value: "nosniff"),
                HTTPHeader(name: "Connection", value: "close"),
            ] + crossOrigin)
    }

    /// The answer to what a browser asks before a page of another origin may send or read.
    func preflight() -> [UInt8] {
        HTTPResponse.head(
            204, "No Content",
            shared + [
                HTTPHeader(name: "Access-Control-Allow-Methods", value: "GET, HEAD, PUT"),
                HTTPHeader(name: "Access-Control-Allow-Headers", value: "Authorization, Content-Type, Range"),
                HTTPHeader(name: "Access-Control-Max-Age", value: "600"),
            ])
    }

    /// All bytes have been taken.
    func stored() -> [UInt8] { answer(200, "OK", body: Array("{}".utf8), headers: []) }

    func refusal(_ refusal: MediaRefusal) -> [UInt8] {
        var headers: [HTTPHeader] = []
        if let milliseconds = refusal.retryAfterMs {
            headers.append(HTTPHeader(name: "Retry-After", value: "\((max(0, milliseconds) + 999) / 1000)"))
        }
        let body = WireJSON.encode(RefusalBody(refusal))
        return answer(
            refusal.status, HTTPStatus.reason(refusal.status),
            body: Array("{\"error\":".utf8) + body + [UInt8(ascii: "}")], headers: headers)
    }

    private func answer(_ status: Int, _ reason: String, body: [UInt8], headers: [HTTPHeader]) -> [UInt8] {
        let all =
            [HTTPHeader(name: "Cache-Control", value: "no-store")] + headers + crossOrigin
        return HTTPResponse.build(
            status: status, reason: reason, headers: all, contentType: "application/json", body: body)
    }
}

/// The error in the body of a refusal, as the server API has it.
private struct RefusalBody: WireMessage {
    var code: Int64
    var name: String
    var message: String
    var retryAfterMs: Int64?

    static var blank: RefusalBody { RefusalBody(MediaRefusal(status: 0, name: "", message: "")) }
    static var schemaName: String { "MediaRefusal" }

    init(_ refusal: MediaRefusal) {
        code = Int64(refusal.code)
        name = refusal.name
        message = refusal.message
        retryAfterMs = refusal.retryAfterMs
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "code", &code)
        try walker.shown(2, "name", &name)
        try walker.shown(3, "message", &message)
        try walker.optional(4, "retryAfterMs", &retryAfterMs)
    }
}
