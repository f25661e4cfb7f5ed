import HTTPWebSocket
import Wire

extension APIResponse {
    /// How the answer goes out.
    struct Delivery {
        /// Whether the connection ends behind it.
        var isLast: Bool
        /// Whether the request was HEAD: then the body is left out, and the head says how long it would be.
        var isHeadOnly: Bool
        /// Whether the caller knows chunks; without them the end of the connection is the end of the answer.
        var isVersion10: Bool
        /// The time, as ``HTTPDate`` writes it.
        var date: String
    }

    private static let defaultHeaders = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]

    /// The head and, unless it is a stream, the body.
    func bytes(_ delivery: Delivery) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(HTTPStatus.reason(status))\r\nContent-Type: \(contentType)\r\n"
        if stream == nil {
            head += "Content-Length: \(body.count)\r\n"
        } else if !delivery.isVersion10 {
            head += "Transfer-Encoding: chunked\r\n"
        }
        head += "Date: \(delivery.date)\r\n"
        if delivery.isLast { head += "Connection: close\r\n" }
        // Files have their own.
        for (name, value) in Self.defaultHeaders where headers[name] == nil { head += "\(name): \(value)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        head += "\r\n"
        var bytes = Array(head.utf8)
        if !delivery.isHeadOnly {
            if stream == nil { bytes += body } else { bytes += Self.piece(body, isVersion10: delivery.isVersion10) }
        }
        return bytes
    }

    /// One piece of a stream; an empty one is left out, since as a chunk it would be the end.
    static func piece(_ bytes: [UInt8], isVersion10: Bool) -> [UInt8] {
        guard !isVersion10, !bytes.isEmpty else { return bytes }
        return Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A]
    }

    static let lastChunk = Array("0\r\n\r\n".utf8)
}
