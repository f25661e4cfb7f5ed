import Consensus

/// A group's row beside its entries.
struct GroupState: Sendable, Hashable {
    var hardState = HardState()
    var snapshot: SnapshotMark?
    var trimmed = LogPosition()
}

/// The row's bytes: little-endian numbers, texts and lists behind their counts.
extension GroupState {
    func encoded() -> [UInt8] {
        var writer = StateWriter()
        writer.number(hardState.term)
        writer.optional(hardState.votedFor) { $0.server($1) }
        writer.number(trimmed.index)
        writer.number(trimmed.term)
        writer.optional(snapshot) { writer, snapshot in
            writer.number(snapshot.index)
            writer.number(snapshot.term)
            writer.servers(snapshot.membership.voters)
            writer.servers(snapshot.membership.learners)
        }
        return writer.bytes
    }

    /// Nil for anything that `encoded` does not produce.
    init?(encoded bytes: [UInt8]) {
        var reader = StateReader(rest: bytes[...])
        guard let term = reader.number(), let vote = reader.optional({ $0.server() }),
            let trimmedIndex = reader.number(), let trimmedTerm = reader.number(),
            let snapshot = reader.optional({ $0.snapshot() }), reader.rest.isEmpty
        else { return nil }
        hardState = HardState(term: term, votedFor: vote)
        self.snapshot = snapshot
        trimmed = LogPosition(index: trimmedIndex, term: trimmedTerm)
    }
}

private struct StateWriter {
    var bytes: [UInt8] = []

    mutating func number(_ value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    mutating func server(_ server: ServerID) {
        let utf8 = Array(server.node.utf8)
        number(UInt64(utf8.count))
        bytes += utf8
        number(server.store)
    }

    mutating func servers(_ servers: [ServerID]) {
        number(UInt64(servers.count))
        for element in servers { server(element) }
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout StateWriter, Value) -> Void) {
        bytes.append(value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }
}

private struct StateReader {
    var rest: ArraySlice<UInt8>

    mutating func number() -> UInt64? {
        guard rest.count >= 8 else { return nil }
        let value = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        return value
    }

    mutating func server() -> ServerID? {
        guard let count = number().flatMap({ Int(exactly: $0) }), count <= rest.count,
            let node = String(validating: rest.prefix(count), as: UTF8.self)
        else { return nil }
        rest = rest.dropFirst(count)
        return number().map { ServerID(node: node, store: $0) }
    }

    mutating func servers() -> [ServerID]? {
        // Each server takes at least 16 bytes, which bounds the count by the bytes that are there.
        guard let count = number().flatMap({ Int(exactly: $0) }), count <= rest.count / 16 else { return nil }
        var servers: [ServerID] = []
        for _ in 0..<count {
            guard let next = server() else { return nil }
            servers.append(next)
        }
        return servers
    }

    mutating func snapshot() -> SnapshotMark? {
        guard let index = number(), let term = number(), let voters = servers(), let learners = servers() else {
            return nil
        }
        return SnapshotMark(
            index: index, term: term, membership: GroupMembership(voters: voters, learners: learners))
    }

    /// The outer nil is an error, the inner one an absent value.
    mutating func optional<Value>(_ read: (inout StateReader) -> Value?) -> Value?? {
        guard let flag = rest.first, flag <= 1 else { return .none }
        rest = rest.dropFirst()
        guard flag == 1 else { return .some(nil) }
        return read(&self).map { .some($0) }
    }
}
