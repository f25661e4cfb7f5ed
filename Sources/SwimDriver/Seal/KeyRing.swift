internal import Cryptography

/// The cluster's keys: one that seals, and all that are accepted.
///
/// To rotate: add the new key everywhere, then make it the sealing one everywhere, then remove the old one everywhere.
public struct KeyRing: Sendable {
    public static let keyBytes = 32
    /// More would only slow down the refusal of packets that are not ours.
    public static let keysMax = 8

    struct Key: Sendable {
        var id: UInt32
        var secret: [UInt8]
    }

    /// The first one seals.
    private(set) var keys: [Key]

    /// The first key seals. Nil unless there are 1 ... `keysMax` different keys of `keyBytes` bytes.
    public init?(_ secrets: [[UInt8]]) {
        guard (1...Self.keysMax).contains(secrets.count), secrets.allSatisfy({ $0.count == Self.keyBytes }) else {
            return nil
        }
        keys = secrets.map { secret in
            // Tells which key it is without telling the key. Equal IDs would be refused, and would be chance.
            let digest = SHA256.digest(of: Array("chatroom gossip key".utf8), secret)
            let id = digest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return Key(id: id, secret: secret)
        }
        guard Set(keys.map(\.id)).count == keys.count else { return nil }
    }
}
