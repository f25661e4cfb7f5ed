/// The payload of a membership entry: a version byte, then voters and learners, each a count byte and, per server, the
/// length of the node's name (one byte), its UTF-8 and the store as eight bytes, most significant first.
extension GroupMembership {
    private static let version: UInt8 = 1

    /// Node names above 255 bytes and more than 255 servers have no encoding; the core refuses such changes before.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = [Self.version]
        for servers in [voters, learners] {
            bytes.append(UInt8(clamping: servers.count))
            for server in servers {
                let name = Array(server.node.utf8)
                bytes.append(UInt8(clamping: name.count))
                bytes.append(contentsOf: name)
                for shift in stride(from: 56, through: 0, by: -8) {
                    bytes.append(UInt8(truncatingIfNeeded: server.store >> UInt64(shift)))
                }
            }
        }
        return bytes
    }

    /// `nil` unless the bytes are exactly one membership with a voter, in which no server occurs twice.
    package init?(decoding bytes: [UInt8]) {
        var rest = bytes[...]
        guard rest.popFirst() == Self.version else { return nil }
        guard let voters = Self.servers(&rest), let learners = Self.servers(&rest), rest.isEmpty else { return nil }
        guard !voters.isEmpty else { return nil }
        guard Set(voters + learners).count == voters.count + learners.count else { return nil }
        self.init(voters: voters, learners: learners)
    }

    private static func servers(_ rest: inout ArraySlice<UInt8>) -> [ServerID]? {
        guard let count = rest.popFirst() else { return nil }
        var servers: [ServerID] = []
        for _ in 0..<count {
            guard let length = rest.popFirst(), rest.count >= Int(length) + 8 else { return nil }
            guard let node = String(validating: rest.prefix(Int(length)), as: UTF8.self) else { return nil }
            rest = rest.dropFirst(Int(length))
            let store = rest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            servers.append(ServerID(node: node, store: store))
        }
        return servers
    }

    func contains(_ server: ServerID) -> Bool { voters.contains(server) || learners.contains(server) }
}
