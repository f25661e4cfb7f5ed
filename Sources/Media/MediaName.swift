import ChatModel

/// Stored content: names that a server has made, so that nothing from outside becomes a path.
public struct MediaName: Sendable, Hashable {
    public let room: RoomID
    public let id: String
    public let digest: String

    /// nil for an ID or a digest that is none.
    public init?(room: RoomID, id: String, digest: String) {
        guard MediaID(id) != nil, digest.utf8.count == 64,
            digest.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 })
        else { return nil }
        self.room = room
        self.id = id
        self.digest = digest
    }

    /// Relative to the store's directory: of 256 folders one, in it a folder for the room, by the bytes of its name.
    var folder: String { Self.folder(of: room) }
    var path: String { "\(folder)/\(id)-\(digest)" }

    static func folder(of room: RoomID) -> String {
        let hex = room.text.utf8.map { hexadecimal($0) }.joined()
        let place = room.text.utf8.reduce(UInt8(0)) { ($0 &* 31) &+ $1 }
        return "\(hexadecimal(place))/\(hex)"
    }

    /// The room whose folder has this name; nil for another folder.
    static func room(ofFolder name: String) -> RoomID? {
        let digits = Array(name.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self).flatMap { RoomID($0) }
    }

    /// The content whose file has this name in the room's folder; nil for another file.
    init?(room: RoomID, file: String) {
        let parts = file.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        self.init(room: room, id: String(parts[0]), digest: String(parts[1]))
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let text = String(byte, radix: 16)
        return byte < 16 ? "0" + text : text
    }
}
