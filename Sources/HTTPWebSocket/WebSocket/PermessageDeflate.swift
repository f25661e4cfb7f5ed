/// The extension permessage-deflate (RFC 7692) as this server, and a client of it, take part in it.
///
/// A client's message refers to none before it, so no connection has a window here. The server's messages refer back at
/// most ``windowBits``, and to other messages only where ``Agreement/keepsContext`` says so.
public enum PermessageDeflate {
    /// The bits of the largest window that this server's messages need: 4 KB.
    public static let windowBits = 12

    /// The outcome of the negotiation.
    public struct Agreement: Sendable, Hashable {
        /// The value of the 101 response's `Sec-WebSocket-Extensions`.
        public let answer: String
        /// The client keeps the window from message to message ("context takeover").
        public let keepsContext: Bool
    }

    /// nil: the client offers nothing that this server can do.
    public static func agree(with request: UpgradeRequest) -> Agreement? {
        for offer in request.headers.list("sec-websocket-extensions") {
            if let agreement = agree(withOffer: pieces(offer, separator: UInt8(ascii: ";"))) { return agreement }
        }
        return nil
    }

    // MARK: - Clients

    /// The offer of a client that reads compressed messages and sends none.
    public static let offer = "\(name); client_no_context_takeover"

    /// The server's answer to ``offer``, as it stands in its headers.
    /// - Returns: nil for one that the client has not offered.
    static func agree(withAnswer answers: [String]) -> Agreement? {
        guard answers.count == 1, let answer = answers.first else { return nil }
        let parts = pieces(answer, separator: UInt8(ascii: ";")).map { $0.lowercased() }
        let parameters = parts.dropFirst()
        guard parts.first == name, Set(parameters).count == parameters.count,
            parameters.allSatisfy({ ["server_no_context_takeover", "client_no_context_takeover"].contains($0) })
        else { return nil }
        return Agreement(answer: answer, keepsContext: !parameters.contains("server_no_context_takeover"))
    }

    // MARK: - Parts

    /// The empty ones too: they are wrong.
    private static func pieces(_ text: String, separator: UInt8, maxSplits: Int = .max) -> [String] {
        Array(text.utf8).split(separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map { String(decoding: HTTPSyntax.trimmed($0), as: UTF8.self) }
    }

    private static let name = "permessage-deflate"

    /// An offer with a parameter that is unknown, wrong or there twice is declined (RFC 7692 §7.1), and so is one that
    /// asks for a smaller window.
    private static func agree(withOffer parts: [String]) -> Agreement? {
        guard parts.first?.lowercased() == name else { return nil }
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let pair = pieces(part, separator: UInt8(ascii: "="), maxSplits: 1)
            guard let key = pair.first?.lowercased(), seen.insert(key).inserted else { return nil }
            let value = pair.count > 1 ? unquoted(pair[1]) : nil
            switch (key, value) {
            case ("server_no_context_takeover", nil), ("client_no_context_takeover", nil),
                ("client_max_window_bits", nil):
                break
            case ("client_max_window_bits", let bits?):
                guard (8...15).map(String.init).contains(bits) else { return nil }
            case ("server_max_window_bits", let bits?):
                guard (windowBits...15).map(String.init).contains(bits) else { return nil }
            default: return nil
            }
        }
        let keepsContext = !seen.contains("server_no_context_takeover")
        var answer = keepsContext ? name : "\(name); server_no_context_takeover"
        answer += "; client_no_context_takeover"
        // A client that has not asked need not know: any larger window will do.
        if seen.contains("server_max_window_bits") { answer += "; server_max_window_bits=\(windowBits)" }
        return Agreement(answer: answer, keepsContext: keepsContext)
    }

    private static func unquoted(_ value: String) -> String {
        value.utf8.count > 1 && value.utf8.first == UInt8(ascii: "\"") && value.utf8.last == UInt8(ascii: "\"")
            ? String(value.dropFirst().dropLast()) : value
    }
}
