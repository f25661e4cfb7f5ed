import ChatModel

/// The claims of PROTOCOL.md, "Tokens", as they stand in a token.
struct TokenPayload: Sendable, Codable {
    var sub: String
    var exp: Double
    var iat: Double?
    var nbf: Double?
    var rooms: [String]?
    var nick: String?
    var avatar: String?
    var iss: String?
    var aud: Audience?

    /// One text or a list of them (RFC 7519 §4.1.3).
    struct Audience: Sendable, Codable {
        var names: [String]

        init(_ name: String) { names = [name] }

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let name = try? value.decode(String.self) {
                names = [name]
            } else {
                names = try value.decode([String].self)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            if names.count == 1 {
                try value.encode(names[0])
            } else {
                try value.encode(names)
            }
        }
    }

    /// A date in milliseconds, rounded down as the clock is, so that no token lives longer than it says; one out of
    /// range is the end of time.
    static func time(_ seconds: Double) -> Timestamp {
        Timestamp(Int64(exactly: (seconds * 1000).rounded(.down)) ?? (seconds > 0 ? .max : 0))
    }
}
