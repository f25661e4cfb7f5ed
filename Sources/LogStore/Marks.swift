import Consensus
import SQLite

/// How far each group's log had come: kept in a file of its own, so that a log that was replaced by an older copy, or
/// lost its end, is found out.
struct Marks: Sendable, Hashable {
    struct Mark: Sendable, Hashable {
        /// The server's current term.
        var term: UInt64
        /// The server that it voted for in that term; nil when it had not, or when that is not known.
        var vote: ServerID?
        /// The last entry.
        var last: LogPosition
    }

    var store: UInt64
    var groups: [GroupID: Mark] = [:]

    static let version: Int64 = 1
    private static let titleStart = "chatroom log marks "
    private static var title: String { titleStart + "\(version)" }

    /// One line per group and a checksum over all lines before it.
    func encoded() -> [UInt8] {
        var text = "\(Self.title)\nstore \(store)\n"
        for (group, mark) in groups.sorted(by: { $0.key < $1.key }) {
            text += "group \(group.number) term \(mark.term) last \(mark.last.index) of term \(mark.last.term)"
            if let vote = mark.vote { text += " vote \(vote.store) \(Self.hexadecimal(vote.node))" }
            text += "\n"
        }
        return Array((text + "checksum \(CRC32C.of(Array(text.utf8)))\n").utf8)
    }

    /// Nil for anything that `encoded` does not produce.
    init?(encoded bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), text.hasSuffix("\n") else { return nil }
        var lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.split(separator: " ")
        }
        guard let last = lines.popLast(), last.count == 2, last[0] == "checksum", let checksum = UInt32(last[1]),
            lines.count >= 2, lines[1].count == 2, lines[1][0] == "store", let store = UInt64(lines[1][1])
        else { return nil }
        self.store = store
        for words in lines.dropFirst(2) {
            guard words.count == 9 || words.count == 12, let group = UInt16(words[1]), let term = UInt64(words[3]),
                let index = UInt64(words[5]), let entryTerm = UInt64(words[8])
            else { return nil }
            var mark = Mark(term: term, last: LogPosition(index: index, term: entryTerm))
            if words.count == 12 {
                guard let store = UInt64(words[10]), let node = Self.text(hexadecimal: words[11]) else { return nil }
                mark.vote = ServerID(node: node, store: store)
            }
            groups[GroupID(group)] = mark
        }
        // Whatever is written must read back to the same bytes: that leaves no room for a damaged file.
        guard encoded() == bytes, text.hasSuffix("checksum \(checksum)\n") else { return nil }
    }

    /// The version of a file that another version of the program has written, and that is whole: of all versions the first
    /// line is the title, and the last one the checksum of those before. nil for anything else.
    static func otherVersion(of bytes: [UInt8]) -> Int64? {
        guard let text = String(validating: bytes, as: UTF8.self), text.hasSuffix("\n") else { return nil }
        let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, first.hasPrefix(titleStart), let last = lines.last, lines.count > 1,
            let found = Int64(first.dropFirst(titleStart.count)), found != version
        else { return nil }
        let before = bytes.prefix(bytes.count - last.utf8.count - 1)
        return last == "checksum \(CRC32C.of(Array(before)))" ? found : nil
    }

    init(store: UInt64) { self.store = store }

    /// A node's name may hold any character; the dot keeps an empty one visible.
    private static func hexadecimal(_ text: String) -> String {
        text.utf8.reduce(into: ".") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) }
    }

    private static func text(hexadecimal: Substring) -> String? {
        let digits = Array(hexadecimal.utf8.dropFirst())
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Why a log must not be used; nil when it is not behind.
    func objection(to logs: [GroupID: GroupEntries]) -> String? {
        for (group, mark) in groups.sorted(by: { $0.key < $1.key }) {
            let log = logs[group]
            let term = log?.state.hardState.term ?? 0
            let last = log?.lastIndex ?? 0
            if term < mark.term || last < mark.last.index {
                return """
                    group \(group.number) had reached term \(mark.term) and entry \(mark.last.index), but the log ends \
                    at term \(term) and entry \(last)
                    """
            }
            if let vote = mark.vote, term == mark.term, log?.state.hardState.votedFor != vote {
                return
                    "group \(group.number) had voted for \(vote.node) in term \(mark.term), and the log has no such vote"
            }
            if let found = log?.term(at: mark.last.index), found != mark.last.term {
                return """
                    entry \(mark.last.index) of group \(group.number) was of term \(mark.last.term), but the log holds \
                    one of term \(found)
                    """
            }
        }
        return nil
    }
}
