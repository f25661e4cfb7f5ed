import ChatModel

/// A bucket of a store that speaks S3, and the names of content in it.
public struct S3Bucket: Sendable, Hashable {
    /// The place of the bucket's name in URLs.
    public enum Style: String, Sendable, Hashable {
        /// `https://endpoint/bucket/key`
        case path
        /// `https://bucket.endpoint/key`
        case virtualHost
    }

    public var isSecure: Bool
    /// Host and port of the store.
    public var endpoint: String
    public var name: String
    public var style: Style
    /// Before all names, so that other things may be in the same bucket; empty, or with a slash at its end.
    public var prefix: String

    /// - Parameter endpoint: `https://host[:port]` or `http://…`, without a path.
    public init?(endpoint: String, name: String, style: Style, prefix: String = "") {
        let parts = endpoint.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 4 && parts[3].isEmpty, ["https:", "http:"].contains(parts[0]),
            parts[1].isEmpty, Self.isHost(parts[2]), Self.isName(name), Self.isPrefix(prefix)
        else { return nil }
        isSecure = parts[0] == "https:"
        // A port that the scheme has anyway is not in the header Host, and so not in what is signed.
        let ownPort = isSecure ? ":443" : ":80"
        self.endpoint = parts[2].hasSuffix(ownPort) ? String(parts[2].dropLast(ownPort.count)) : String(parts[2])
        self.name = name
        self.style = style
        self.prefix = prefix
    }

    private static func isHost(_ text: Substring) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: ".-_:[]".utf8.contains(byte)
                }
            }
    }

    /// 3 to 63 small letters, digits, dots and hyphens, as stores have them.
    private static func isName(_ text: String) -> Bool {
        (3...63).contains(text.utf8.count)
            && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 || $0 == 0x2E || $0 == 0x2D }
    }

    private static func isPrefix(_ text: String) -> Bool {
        text.isEmpty
            || text.utf8.count <= 128 && text.hasSuffix("/") && !text.hasPrefix("/")
                && text.utf8.allSatisfy {
                    0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 || 0x41...0x5A ~= $0 || "-_/".utf8.contains($0)
                }
    }

    /// The host to which browsers go.
    public var authority: String { style == .path ? endpoint : "\(name).\(endpoint)" }
    public var origin: String { "\(isSecure ? "https" : "http")://\(authority)" }

    /// The path of a key; of the bucket itself for an empty one.
    func path(of key: String) -> String {
        let encoded = PercentEncoding.encode(key, keepingSlashes: true)
        return style == .path ? "/\(name)\(key.isEmpty ? "" : "/")\(encoded)" : "/\(encoded)"
    }

    /// A URL by which its bearer may make one call.
    public func url(
        _ method: String, _ key: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], signedBy signer: S3Signer, at time: Timestamp, seconds: Int
    ) -> String {
        let call = S3Signer.Call(
            method: method, authority: authority, path: path(of: key), query: query, headers: headers)
        return "\(origin)\(call.path)?\(signer.query(of: call, at: time, seconds: seconds))"
    }

    // MARK: - Names

    /// Content that the room knows: written once, by a node.
    public func key(of content: MediaName) -> String { "\(prefix)content/\(content.path)" }

    /// The place to which a client sends. It may do so again while its URL holds, and so it is not where content is read.
    public func incomingKey(of id: String, in room: RoomID) -> String {
        "\(prefix)incoming/\(MediaName.folder(of: room))/\(id)"
    }

    /// The name of the cluster that may remove what its rooms do not know.
    public var ownerKey: String { "\(prefix)owner" }

    /// A key that nodes have made, taken apart.
    public enum Item: Sendable, Hashable {
        case content(MediaName)
        case incoming(RoomID, id: String)

        public var room: RoomID {
            switch self {
            case .content(let name): name.room
            case .incoming(let room, _): room
            }
        }

        public var id: String {
            switch self {
            case .content(let name): name.id
            case .incoming(_, let id): id
            }
        }
    }

    /// nil for a key of somebody else.
    public func item(of key: String) -> Item? {
        guard key.utf8.starts(with: prefix.utf8), key.utf8.count <= 1024 else { return nil }
        let rest = key.utf8.dropFirst(prefix.utf8.count)
        let parts = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
        guard parts.count == 4, let room = MediaName.room(ofFolder: parts[2]),
            MediaName.folder(of: room) == "\(parts[1])/\(parts[2])"
        else { return nil }
        switch parts[0] {
        case "content": return MediaName(room: room, file: parts[3]).map { .content($0) }
        case "incoming": return MediaID(parts[3]).map { .incoming(room, id: $0.text) }
        default: return nil
        }
    }
}
