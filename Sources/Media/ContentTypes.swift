import ChatModel

/// The types that a browser may show inside a page (PROTOCOL.md, "Media"). All others, SVG and HTML among them, are only
/// downloaded: as documents they could run scripts.
public enum ContentTypes {
    /// As many of the first bytes as `isInline` looks at.
    public static let signatureBytes = 16

    /// Whether content of this type begins like one of the listed types that it claims to be.
    public static func isInline(_ contentType: String, beginning bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes.prefix(signatureBytes))
        switch PictureType(contentType: contentType) {
        case .png?: return begins(bytes, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        case .jpeg?: return begins(bytes, [0xFF, 0xD8, 0xFF])
        case .gif?: return begins(bytes, Array("GIF87a".utf8)) || begins(bytes, Array("GIF89a".utf8))
        case .webp?: return begins(bytes, Array("RIFF".utf8)) && has("WEBP", at: 8, in: bytes)
        case .avif?: return has("ftyp", at: 4, in: bytes) && brand(of: bytes, isOne: ["avif", "avis"])
        case nil: break
        }
        switch PictureType.essence(of: contentType) {
        case "video/mp4", "audio/mp4", "audio/x-m4a", "audio/m4a":
            return has("ftyp", at: 4, in: bytes) && !brand(of: bytes, isOne: ["avif", "avis", "heic", "heix"])
        case "video/webm", "audio/webm": return begins(bytes, [0x1A, 0x45, 0xDF, 0xA3])
        case "audio/mpeg", "audio/mp3":
            return begins(bytes, Array("ID3".utf8)) || isFrame(bytes, layers: 0x02...0x06)
        case "audio/aac", "audio/aacp": return begins(bytes, Array("ADIF".utf8)) || isFrame(bytes, layers: 0x00...0x00)
        case "audio/ogg", "video/ogg", "application/ogg": return begins(bytes, Array("OggS".utf8))
        default: return false
        }
    }

    /// The type under which content is given: its own only where a browser may show it, and then without what it might take for
    /// another type.
    public static func shown(_ contentType: String, isInline: Bool) -> String {
        isInline ? PictureType.essence(of: contentType) : "application/octet-stream"
    }

    /// The header Content-Disposition (RFC 6266): the name in UTF-8, percent-encoded, so that nothing in it ends the header.
    public static func disposition(ofName name: String, isInline: Bool) -> String {
        let kind = isInline ? "inline" : "attachment"
        return name.isEmpty ? kind : "\(kind); filename*=UTF-8''\(PercentEncoding.encode(name))"
    }

    private static func begins(_ bytes: [UInt8], _ signature: [UInt8]) -> Bool { bytes.starts(with: signature) }

    private static func has(_ text: String, at place: Int, in bytes: [UInt8]) -> Bool {
        bytes.dropFirst(place).starts(with: text.utf8)
    }

    private static func brand(of bytes: [UInt8], isOne brands: [String]) -> Bool {
        brands.contains { has($0, at: 8, in: bytes) }
    }

    /// A frame of MPEG sound: eleven bits that are set, then version and layer; ADTS has the layer 0.
    private static func isFrame(_ bytes: [UInt8], layers: ClosedRange<UInt8>) -> Bool {
        guard bytes.count >= 2, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return false }
        return layers.contains(bytes[1] & 0x06)
    }
}
