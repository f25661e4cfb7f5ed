import Transport

/// The number by which a room knows the address of an anonymous member, so that a blacklisted one stays out for a
/// while: the same number on every node, for all addresses of one holder. It keeps addresses out of the log and the
/// catalogue as they are; it is no secret, as there are few enough IPv4 addresses to try them all.
enum AddressHash {
    /// FNV-1a, 64 bits.
    static func of(_ address: IPAddress) -> UInt64 {
        "\(address.holder)".utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
