/// The extension permessage-deflate (RFC 7692) as this server takes part in it: without context takeover in either
/// direction, so that a compressed message can be shared by all who get it, and no connection keeps a window.
public enum PermessageDeflate {
    /// What the 101 response says in `Sec-WebSocket-Extensions`; nil: the client offers nothing that this server can do.
    public static func answer(to request: UpgradeRequest) -> String? {
        for header in request.headers where header.name == "sec-websocket-extensions" {
            for offer in header.value.split(separator: ",") {
                if let answer = answer(toOffer: offer.split(separator: ";").map(HTTPSyntax.trimmed)) { return answer }
            }
        }
        return nil
    }

    private static let name = "permessage-deflate"

    /// An offer with a parameter that is unknown, wrong or there twice is declined (RFC 7692 §7.1), and so is one that
    /// asks for a smaller window.
    private static func answer(toOffer parts: [String]) -> String? {
        guard parts.first?.lowercased() == name else { return nil }
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = pair.first.map({ HTTPSyntax.trimmed($0).lowercased() }), seen.insert(key).inserted else {
                return nil
            }
            let value = pair.count > 1 ? unquoted(HTTPSyntax.trimmed(pair[1])) : nil
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
        value.count > 1 && value.first == "\"" && value.last == "\"" ? String(value.dropFirst().dropLast()) : value
    }
}
