import ChatModel

/// Packets and push-pull states as bytes. Integers are LEB128 varints, texts stand behind a byte with their length.
///
///     packet  = 1 message*                         (1: the version of the format)
///     state   = 1 record*
///     record  = status message                     (the message is `alive`)
///
/// Bytes that do not read back the same are refused, so there is one encoding of everything. A reader refuses the whole
/// packet for one bad byte: packets are authenticated, so that byte is a fault of a program or another version.
public enum GossipCodec {
    private static let version: UInt8 = 1
    /// Bytes of one member's own words, so that they fit a packet beside a probe.
    static let memberBytesMax = 1_200
    /// The owner adds 1 at each refutation; far more than that is nobody's incarnation.
    static let incarnationMax: UInt64 = 1 << 62

    public static func encode(_ messages: [GossipMessage]) -> [UInt8] {
        var writer = Writer()
        writer.byte(version)
        for message in messages { writer.message(message) }
        return writer.bytes
    }

    /// Nil for anything that `encode` does not produce.
    public static func messages(_ bytes: some Collection<UInt8>, bytesMax: Int = 1_400) -> [GossipMessage]? {
        guard bytes.count <= bytesMax else { return nil }
        var reader = Reader(Array(bytes))
        guard reader.byte() == version else { return nil }
        var messages: [GossipMessage] = []
        while !reader.isAtEnd {
            guard let message = reader.message() else { return nil }
            messages.append(message)
        }
        return messages
    }

    public static func encode(_ records: [GossipRecord]) -> [UInt8] {
        var writer = Writer()
        writer.byte(version)
        for record in records {
            writer.byte(record.status.rawValue)
            writer.message(.alive(incarnation: record.incarnation, record.member))
        }
        return writer.bytes
    }

    /// The most bytes of a state with `members` members.
    public static func stateBytesMax(members: Int) -> Int { 1 + members * (memberBytesMax + 12) }

    /// Nil for anything that `encode` does not produce, and for more than `membersMax` records.
    public static func records(_ bytes: some Collection<UInt8>, membersMax: Int) -> [GossipRecord]? {
        guard bytes.count <= stateBytesMax(members: membersMax) else { return nil }
        var reader = Reader(Array(bytes))
        guard reader.byte() == version else { return nil }
        var records: [GossipRecord] = []
        while !reader.isAtEnd {
            guard records.count < membersMax, let status = reader.byte().flatMap(GossipRecord.Status.init(rawValue:)),
                case .alive(let incarnation, let member) = reader.message()
            else { return nil }
            records.append(GossipRecord(member: member, incarnation: incarnation, status: status))
        }
        return records
    }

    static func encodedBytes(_ message: GossipMessage) -> Int {
        var writer = Writer()
        writer.message(message)
        return writer.bytes.count
    }

    static func encodedBytes(_ member: GossipMember) -> Int {
        var writer = Writer()
        writer.member(member)
        return writer.bytes.count
    }

    static func encodedBytes(_ lead: ShardLead) -> Int {
        var writer = Writer()
        writer.lead(lead)
        return writer.bytes.count
    }

    fileprivate enum Kind: UInt8 {
        case ping = 1
        case pingRequest = 2
        case ack = 3
        case nack = 4
        case alive = 5
        case suspect = 6
        case dead = 7
    }
}

private struct Writer {
    var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func number(_ value: some FixedWidthInteger & UnsignedInteger) {
        var rest = UInt64(value)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func text(_ text: String) {
        let utf8 = text.utf8.prefix(255)
        bytes.append(UInt8(truncatingIfNeeded: utf8.count))
        bytes += utf8
    }

    mutating func kind(_ kind: GossipCodec.Kind) { bytes.append(kind.rawValue) }

    mutating func message(_ message: GossipMessage) {
        switch message {
        case .ping(let sequence, let target):
            kind(.ping)
            number(sequence)
            text(target.text)
        case .pingRequest(let sequence, let target):
            kind(.pingRequest)
            number(sequence)
            text(target.text)
        case .ack(let sequence):
            kind(.ack)
            number(sequence)
        case .nack(let sequence):
            kind(.nack)
            number(sequence)
        case .alive(let incarnation, let member):
            kind(.alive)
            number(incarnation)
            self.member(member)
        case .suspect(let incarnation, let node, let by):
            kind(.suspect)
            number(incarnation)
            text(node.text)
            text(by.text)
        case .dead(let incarnation, let node, let by):
            kind(.dead)
            number(incarnation)
            text(node.text)
            text(by.text)
        }
    }

    /// One byte of flags tells which optional parts follow.
    mutating func member(_ member: GossipMember) {
        text(member.node.text)
        byte(
            member.role.rawValue | (member.store == nil ? 0 : 2) | (member.linkAddress == nil ? 0 : 4)
                | (member.clientAddress == nil ? 0 : 8))
        if let store = member.store { number(store) }
        text(member.gossipAddress.text)
        if let address = member.linkAddress { text(address.text) }
        if let address = member.clientAddress { text(address.text) }
        text(member.version)
        number(member.load)
        number(UInt64(member.leads.count))
        for lead in member.leads { self.lead(lead) }
    }

    mutating func lead(_ lead: ShardLead) {
        number(lead.shard.number)
        number(lead.term)
    }
}

private struct Reader {
    private let bytes: [UInt8]
    private var next = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { next == bytes.count }

    mutating func byte() -> UInt8? {
        guard next < bytes.count else { return nil }
        defer { next += 1 }
        return bytes[next]
    }

    mutating func number<Value: FixedWidthInteger & UnsignedInteger>(_: Value.Type = Value.self) -> Value? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = byte() else { return nil }
            let bits = UInt64(byte & 0x7F)
            // The tenth byte has one bit of the number.
            guard shift < 63 || bits <= 1 else { return nil }
            value |= bits << shift
            guard byte & 0x80 == 0 else { continue }
            // A zero at the end would be a second encoding of the same number.
            guard shift == 0 || byte != 0 else { return nil }
            return Value(exactly: value)
        }
        return nil
    }

    mutating func text() -> String? {
        guard let count = byte().map({ Int($0) }), count <= bytes.count - next else { return nil }
        defer { next += count }
        return String(validating: bytes[next..<next + count], as: UTF8.self)
    }

    mutating func node() -> NodeID? { text().flatMap { NodeID($0) } }
    mutating func address() -> GossipAddress? { text().flatMap { GossipAddress($0) } }

    mutating func incarnation() -> UInt64? { number().flatMap { $0 <= GossipCodec.incarnationMax ? $0 : nil } }

    mutating func message() -> GossipMessage? {
        guard let kind = byte().flatMap({ GossipCodec.Kind(rawValue: $0) }) else { return nil }
        switch kind {
        case .ping, .pingRequest:
            guard let sequence = number(UInt32.self), let target = node() else { return nil }
            return kind == .ping
                ? .ping(sequence: sequence, target: target) : .pingRequest(sequence: sequence, target: target)
        case .ack: return number(UInt32.self).map { .ack(sequence: $0) }
        case .nack: return number(UInt32.self).map { .nack(sequence: $0) }
        case .alive:
            guard let incarnation = incarnation(), let member = member() else { return nil }
            return .alive(incarnation: incarnation, member)
        case .suspect, .dead:
            guard let incarnation = incarnation(), let node = node(), let by = self.node() else { return nil }
            return kind == .suspect
                ? .suspect(incarnation: incarnation, node, by: by) : .dead(incarnation: incarnation, node, by: by)
        }
    }

    private mutating func member() -> GossipMember? {
        let start = next
        guard let node = node(), let flags = byte(), flags < 16, let role = GossipMember.Role(rawValue: flags & 1)
        else {
            return nil
        }
        var store: UInt64?
        if flags & 2 != 0 {
            guard let value = number(UInt64.self) else { return nil }
            store = value
        }
        guard let gossipAddress = address() else { return nil }
        var member = GossipMember(node: node, store: store, role: role, gossipAddress: gossipAddress)
        if flags & 4 != 0 {
            guard let address = address() else { return nil }
            member.linkAddress = address
        }
        if flags & 8 != 0 {
            guard let address = address() else { return nil }
            member.clientAddress = address
        }
        guard let version = text(), version.utf8.count <= GossipMember.versionBytesMax, let load = number(UInt16.self),
            let count = number(UInt64.self)
        else { return nil }
        member.version = version
        member.load = load
        for _ in 0..<count {
            // The bytes that are there end a lie about the count.
            guard let shard = number(UInt16.self), let term = number(UInt64.self) else { return nil }
            let lead = ShardLead(shard: ShardID(shard), term: term)
            if let last = member.leads.last, (last.shard, last.term) >= (lead.shard, lead.term) { return nil }
            member.leads.append(lead)
        }
        return next - start <= GossipCodec.memberBytesMax ? member : nil
    }
}
