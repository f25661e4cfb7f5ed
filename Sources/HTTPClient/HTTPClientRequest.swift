/// One call over HTTP or HTTPS.
public struct HTTPClientRequest: Sendable {
    public var method = "GET"
    /// An absolute `http` or `https` URL, percent-encoded; its path goes out as it is.
    public var url: String
    public var headers: [(name: String, value: String)] = []
    public var body: [UInt8]?
    /// For everything: the wait for a place, name look-up, connection, request and the whole answer.
    public var timeoutMilliseconds: Int64
    /// Bytes of the answer's body; a longer one is `tooLarge`.
    public var answerBytesMax: Int
    /// Whether it may go out on a connection that earlier calls have used. Such a call is sent again, on a connection of
    /// its own, when the old one turns out to be closed: to be false where a repetition could do something twice.
    public var reusesConnection = true
    /// The names, in lower case, of the answer's headers that are kept; each name's last value.
    public var answerHeaders: Set<String> = []

    public init(url: String, timeoutMilliseconds: Int64, answerBytesMax: Int) {
        self.url = url
        self.timeoutMilliseconds = timeoutMilliseconds
        self.answerBytesMax = answerBytesMax
    }

    /// The part of the URL that tells one server from another.
    var origin: String {
        guard let scheme = url.range(ofASCII: "://") else { return "" }
        let rest = url.utf8[scheme...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        return String(url[..<(end ?? url.endIndex)]).lowercased()
    }

    /// Whether its headers are as RFC 9110 §5 has them: nothing in them can begin another line.
    var hasValidHeaders: Bool {
        headers.allSatisfy { name, value in
            !name.isEmpty
                && name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !Self.delimiters.contains($0) }
                && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        } && !method.isEmpty && method.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }

    private static let delimiters = Array("\"(),/:;<=>?@[\\]{}".utf8)
}

extension String {
    /// The index behind the first occurrence.
    fileprivate func range(ofASCII text: StaticString) -> String.Index? {
        var start = utf8.startIndex
        let wanted = text.withUTF8Buffer { Array($0) }
        while start != utf8.endIndex {
            if utf8[start...].starts(with: wanted) { return utf8.index(start, offsetBy: wanted.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}

/// A server's answer, whatever its status; redirects are answers like others.
public struct HTTPClientAnswer: Sendable, Hashable {
    public var status: Int
    public var body: [UInt8]
    /// Those that the request asked for, by their names in lower case.
    public var headers: [String: String] = [:]
}
