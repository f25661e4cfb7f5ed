/// The extension permessage-deflate (RFC 7692) as this server takes part in it: without context takeover in either
/// direction, so that a compressed message can be shared by all who get it, and no connection keeps a window.
public enum PermessageDeflate {
    /// The value of the 101 response's `Sec-WebSocket-Extensions`; nil: the client offers nothing that this server can
    /// do.
    public static func answer(to request: UpgradeRequest) -> String? {
        for offer in request.headers.list("sec-websocket-extensions") {
            if let answer = answer(toOffer: pieces(offer, separator: UInt8(ascii: ";"))) { return answer }
        }
        return nil
    }

    /// The empty ones too: they are wrong.
    private static func pieces(_ text: String, separator: UInt8, maxSplits: Int = .max) -> [String] {
        Array(text.utf8).split(separator: separator, maxSplits: maxSplits, omittingEmptySubsequences: false)
            .map { String(decoding: HTTPSyntax.trimmed($0), as: UTF8.self) }
    }

    private static let name = "permessage-deflate"

    /// An offer with a parameter that is unknown, wrong or there twice is declined (RFC 7692 §7.1), and so is one that
    /// asks for a smaller window.
    private static func answer(toOffer parts: [String]) -> String? {
        guard parts.first?.lowercased() == name else { return nil }
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let pair = pieces(part, separator: UInt8(ascii: "="), maxSplits: 1)
            guard let key = pair.first?.lowercased(), seen.insert(key).inserted else { return nil }
            let value = pair.count > 1 ? unquoted(pair[1]) : nil
            switch (key, value) {
            case ("server_no_context_takeover", nil), ("client_no_context_takeover", nil),
                ("client_max_window_bits", nil), ("server_max_window_bits", "15"):
                break
            case ("client_max_window_bits", let bits?):
                guard (8...15).map(String.init).contains(bits) else { return nil }
            default: return nil
            }
        }
        let answer = "\(name); server_no_context_takeover; client_no_context_takeover"
        return seen.contains("server_max_window_bits") ? answer + "; server_max_window_bits=15" : answer
    }

    private static func unquoted(_ value: String) -> String {
        value.utf8.count > 1 && value.utf8.first == UInt8(ascii: "\"") && value.utf8.last == UInt8(ascii: "\"")
            ? String(value.dropFirst().dropLast()) : value
    }
}
