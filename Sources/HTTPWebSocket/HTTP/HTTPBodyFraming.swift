/// How long the body of a request is (RFC 9112 §6.3).
public enum HTTPBodyFraming: Sendable, Hashable {
    case none
    /// So many bytes, more than none.
    case fixed(Int)
    case chunked

    /// A request whose end two readers could see at different places is refused, whatever else it says.
    /// - Throws: 400; 501 for another transfer coding than `chunked`.
    static func of(_ head: HTTPRequestHead) throws(HTTPRefusal) -> HTTPBodyFraming {
        let length = head.header("content-length")
        let codings = head.headers.filter { $0.name == "transfer-encoding" }
        guard let coding = codings.first else {
            guard let length else { return .none }
            // No sign, no white space, no list, and nothing that an Int can't hold.
            guard (1...18).contains(length.utf8.count),
                length.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
                let count = Int(length)
            else { throw .badRequest }
            return count == 0 ? .none : .fixed(count)
        }
        guard length == nil, codings.count == 1, !head.isVersion10 else { throw .badRequest }
        guard coding.value.lowercased() == "chunked" else {
            throw HTTPRefusal(status: 501, reason: "Not Implemented")
        }
        return .chunked
    }
}
