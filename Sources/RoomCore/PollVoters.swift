import ChatModel

/// A poll's voters: 128-bit keyed hashes of the users with their options, in parts of which each has a row. So a vote
/// writes a small row, a million of them occupy 17 MB and little more, and are loaded with some thousand rows.
struct PollVoters: Sendable {
    /// Parts of one poll: of a million voters each has about 60, which is a row of 1 KB.
    static let partBits = 14
    private static let entryBytes = 17

    private(set) var parts: [UInt16: [UInt8]] = [:]
    private(set) var counts: [Int64]
    private(set) var total = 0

    init(options: Int) { counts = [Int64](repeating: 0, count: options) }

    static func hash(_ user: UserID, _ key: PollKey) -> (high: UInt64, low: UInt64) {
        let (low, high) = Array(user.text.utf8).withUnsafeBytes { SipHash128.hash($0, key: (key.low, key.high)) }
        return (high, low)
    }

    static func part(of hash: (high: UInt64, low: UInt64)) -> UInt16 { UInt16(hash.high >> (64 - UInt64(partBits))) }

    /// The option of a voter; nil for one who has not voted.
    func option(of hash: (high: UInt64, low: UInt64)) -> Int? {
        place(of: hash).map { Int(parts[Self.part(of: hash), default: []][$0 + 16]) }
    }

    /// Sets the vote of a voter who has voted or not.
    mutating func set(_ option: Int, of hash: (high: UInt64, low: UInt64)) {
        let part = Self.part(of: hash)
        if let place = place(of: hash) {
            let former = Int(parts[part, default: []][place + 16])
            parts[part]?[place + 16] = UInt8(option)
            if counts.indices.contains(former) { counts[former] -= 1 }
        } else {
            for word in [hash.high, hash.low] {
                for shift in stride(from: UInt64(0), to: 64, by: 8) {
                    parts[part, default: []].append(UInt8(truncatingIfNeeded: word >> shift))
                }
            }
            parts[part, default: []].append(UInt8(option))
            total += 1
        }
        if counts.indices.contains(option) { counts[option] += 1 }
    }

    /// Takes a part as a row has it.
    mutating func restore(_ part: UInt16, _ votes: PollVotes) {
        let whole = votes.bytes.count / Self.entryBytes
        parts[part] = Array(votes.bytes.prefix(whole * Self.entryBytes))
        total += whole
        for index in 0..<whole {
            let option = Int(votes.bytes[index * Self.entryBytes + 16])
            if counts.indices.contains(option) { counts[option] += 1 }
        }
    }

    /// The poll is closed: takes out some parts, whose rows go. Counts stay.
    mutating func takeParts(atMost count: Int) -> [UInt16] {
        let taken = Array(parts.keys.sorted().prefix(count))
        for part in taken { parts[part] = nil }
        return taken
    }

    private func place(of hash: (high: UInt64, low: UInt64)) -> Int? {
        guard let bytes = parts[Self.part(of: hash)] else { return nil }
        return bytes.withUnsafeBytes { bytes in
            var place = 0
            while place + Self.entryBytes <= bytes.count {
                if bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self) == hash.low.littleEndian,
                    bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self) == hash.high.littleEndian
                {
                    return place
                }
                place += Self.entryBytes
            }
            return nil
        }
    }
}

/// A room's polls: those that are open, and some that were closed.
struct PollTable: Sendable {
    struct Entry: Sendable {
        var record: PollRecord
        var voters: PollVoters

        /// With the counts of now.
        var poll: Poll {
            var poll = record.poll
            if record.closedAt == nil { poll.counts = voters.counts }
            return poll
        }
    }

    private(set) var entries: [String: Entry] = [:]
    /// Votes of polls that gave their ID to another one, whose rows have to go.
    private(set) var abandoned: [UInt64: PollVoters] = [:]

    subscript(id: String) -> Entry? {
        get { entries[id] }
        _modify { yield &entries[id] }
    }

    /// In the order of opening.
    var all: [Entry] { entries.values.sorted { $0.record.number < $1.record.number } }
    var openCount: Int { entries.values.count { $0.record.closedAt == nil } }

    /// When the next open one closes.
    var nextClose: Timestamp? {
        entries.values.lazy.filter { $0.record.closedAt == nil }.map(\.record.poll.closesAt).min()
    }

    /// Since when there are rows that have to go; nil: there are none.
    var sweepAt: Timestamp? {
        guard abandoned.isEmpty else { return Timestamp(0) }
        let closed = entries.values.filter { $0.record.closedAt != nil }
        let areTooMany = closed.count > Limits.closedPolls
        return closed.lazy.compactMap { areTooMany || !$0.voters.parts.isEmpty ? $0.record.closedAt : nil }.min()
    }

    mutating func put(_ entry: Entry) {
        if let former = entries[entry.record.poll.id], !former.voters.parts.isEmpty {
            abandoned[former.record.number] = former.voters
        }
        entries[entry.record.poll.id] = entry
    }

    /// Takes the rows of closed polls, at most so many parts, and the polls beyond those that are listed.
    /// - Returns: the parts by the number of their poll, the IDs of polls of which no part is left, and of those that are
    /// forgotten.
    mutating func takeSwept(
        atMost limit: Int
    ) -> (parts: [(number: UInt64, part: UInt16)], emptied: [String], forgotten: [String]) {
        var emptied: [String] = []
        var parts: [(number: UInt64, part: UInt16)] = []
        for number in abandoned.keys.sorted() where parts.count < limit {
            for part in abandoned[number]?.takeParts(atMost: limit - parts.count) ?? [] { parts.append((number, part)) }
            if abandoned[number]?.parts.isEmpty == true { abandoned[number] = nil }
        }
        let closed = all.filter { $0.record.closedAt != nil }
        for entry in closed where parts.count < limit && !entry.voters.parts.isEmpty {
            let id = entry.record.poll.id
            for part in entries[id]?.voters.takeParts(atMost: limit - parts.count) ?? [] {
                parts.append((entry.record.number, part))
            }
            if entries[id]?.voters.parts.isEmpty == true { emptied.append(id) }
        }
        var forgotten: [String] = []
        for entry in closed.prefix(max(0, closed.count - Limits.closedPolls)) {
            let id = entry.record.poll.id
            guard entries[id]?.voters.parts.isEmpty == true else { continue }
            entries[id] = nil
            forgotten.append(id)
        }
        return (parts, emptied, forgotten)
    }

    // MARK: - Rows

    static func rowKey(_ number: UInt64, _ part: UInt16) -> String {
        "\(String(number, radix: 36))/\(String(part, radix: 16))"
    }

    static func place(ofRow key: String) -> (number: UInt64, part: UInt16)? {
        let halves = key.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let number = UInt64(halves[0], radix: 36), let part = UInt16(halves[1], radix: 16)
        else {
            return nil
        }
        return (number, part)
    }

    init() {}

    /// Restores what was there from its rows, in any order.
    init(_ records: [PollRecord], votes: [(key: String, votes: PollVotes)]) {
        var numbers: [UInt64: String] = [:]
        for record in records {
            entries[record.poll.id] = Entry(record: record, voters: PollVoters(options: record.poll.options.count))
            numbers[record.number] = record.poll.id
        }
        for (key, votes) in votes {
            guard let place = Self.place(ofRow: key) else { continue }
            if let id = numbers[place.number] {
                entries[id]?.voters.restore(place.part, votes)
            } else {
                abandoned[place.number, default: PollVoters(options: 0)].restore(place.part, votes)
            }
        }
    }
}
