import Consensus

/// Content of a log that contradicts itself: what is wrong, as a part of a sentence.
struct LogDamage: Error {
    var what: String
    init(_ what: String) { self.what = what }
}

/// The logs of all groups, as the records of the segments are read one after the other.
///
/// A segment begins with what each group was before it. Where older segments are gone, the entries that were in them and
/// are still needed follow as moved ones; until then their places are open.
final class LogReplay {
    private final class Group {
        var state: GroupState
        /// Those behind `state.trimmed`, after `head` that are gone.
        var items: [Item] = []
        var head = 0

        init(_ state: GroupState) { self.state = state }

        var lastIndex: UInt64 { state.trimmed.index + UInt64(items.count - head) }

        /// The item of an entry that is there, or is to be.
        func position(_ index: UInt64) -> Int? {
            guard index > state.trimmed.index, index <= lastIndex else { return nil }
            return head + Int(index - state.trimmed.index - 1)
        }

        func trim(to state: GroupState) -> Bool {
            guard state.trimmed.index >= self.state.trimmed.index, state.trimmed.index <= lastIndex else {
                return false
            }
            head += Int(state.trimmed.index - self.state.trimmed.index)
            if head > 4096, head > items.count / 2 {
                items.removeFirst(head)
                head = 0
            }
            self.state = state
            return true
        }
    }

    private struct Item {
        /// nil: not read yet.
        var place: EntryPlace?
        var term: UInt64
        var kind: Entry.Kind
        static let open = Item(place: nil, term: 0, kind: .command)
    }

    private var groups: [GroupID: Group] = [:]
    private var isBegun = false

    /// How many entries more a head may name: each of them is somewhere in the files.
    private var entriesLeft: UInt64

    /// - Parameter entriesMax: how many entries the files have space for.
    init(entriesMax: Int) { entriesLeft = UInt64(entriesMax) }

    // MARK: - Blocks

    /// A record's blocks, which have matched their checksum.
    /// - Parameters:
    ///   - isFirst: whether it is the segment's first record, which has a head.
    ///   - start: where the record is in the segment.
    func apply(
        _ blocks: UnsafeRawBufferPointer, segment: UInt32, start: Int, isFirst: Bool,
        table: [(group: GroupID, header: EntryHeader, row: Int64)] = []
    ) throws(LogDamage) {
        var reader = SegmentReader(blocks)
        if isFirst {
            guard reader.byte() == SegmentRecord.Block.head.rawValue, try readHead(&reader) else {
                throw LogDamage("segment \(segment) has no head")
            }
            for row in table { fill(row.header, of: row.group, EntryPlace(row: row.row)) }
        }
        let base = start + SegmentRecord.headerBytes
        while !reader.isAtEnd {
            let isRead: Bool
            switch reader.byte().flatMap(SegmentRecord.Block.init) {
            case .padding:
                guard reader.isPadding else { throw LogDamage("a record of segment \(segment) has a block of no kind") }
                return
            case .change: isRead = try readChange(&reader, segment, base)
            case .moved: isRead = try readMoved(&reader, segment, base)
            case .head, nil: isRead = false
            }
            guard isRead else { throw LogDamage("the record at \(start) of segment \(segment) can't be read") }
        }
    }

    /// False: it can't be read.
    private func readHead(_ reader: inout SegmentReader) throws(LogDamage) -> Bool {
        guard reader.number(UInt32.self) != nil, let count = reader.number(UInt32.self), count <= UInt32(UInt16.max) + 1
        else { return false }
        var named: Set<GroupID> = []
        for _ in 0..<count {
            guard let group = reader.group(), let last = reader.number(UInt64.self), let state = reader.state(),
                last >= state.trimmed.index, isBegun || last - state.trimmed.index <= entriesLeft
            else { return false }
            named.insert(group)
            if isBegun {
                guard let known = groups[group], known.state == state, known.lastIndex == last else {
                    throw LogDamage("group \(group.number) is not as a segment says that it was")
                }
            } else {
                let new = Group(state)
                entriesLeft -= last - state.trimmed.index
                new.items = Array(repeating: .open, count: Int(last - state.trimmed.index))
                groups[group] = new
            }
        }
        guard named == Set(groups.keys) else { throw LogDamage("a segment does not name the groups that are there") }
        isBegun = true
        return true
    }

    private func readChange(_ reader: inout SegmentReader, _ segment: UInt32, _ base: Int) throws(LogDamage) -> Bool {
        guard let id = reader.group(), let raw = reader.byte(), SegmentRecord.Parts.all.rawValue | raw == 7 else {
            return false
        }
        let parts = SegmentRecord.Parts(rawValue: raw)
        var state: GroupState?
        if parts.contains(.state) {
            guard let found = reader.state() else { return false }
            state = found
        }
        let group: Group
        if let known = groups[id] {
            group = known
        } else {
            // A group's first save writes its state, so entries without one have lost it.
            guard let state else { throw LogDamage("group \(id.number) has entries and no state") }
            group = Group(GroupState())
            group.state.hardState = state.hardState
            groups[id] = group
        }
        if parts.contains(.cut) || parts.contains(.reset) {
            guard let kept = reader.number(UInt64.self) else { return false }
            if parts.contains(.reset) {
                guard let state, state.trimmed.index == kept else {
                    throw LogDamage("group \(id.number) begins anew behind another entry than it says")
                }
                group.items = []
                group.head = 0
                group.state = state
            } else {
                guard kept >= group.state.trimmed.index, kept <= group.lastIndex else {
                    throw LogDamage("group \(id.number) is cut behind entry \(kept), which it has not")
                }
                group.items.removeLast(Int(group.lastIndex - kept))
            }
        }
        guard let count = reader.number(UInt32.self) else { return false }
        for _ in 0..<count {
            let offset = reader.offset
            guard let entry = reader.entry(of: id) else { return false }
            guard entry.index == group.lastIndex + 1 else {
                throw LogDamage("group \(id.number) continues with entry \(entry.index) after \(group.lastIndex)")
            }
            let place = EntryPlace(segment: segment, length: reader.offset - offset, start: base + offset)
            group.items.append(Item(place: place, term: entry.term, kind: entry.kind))
        }
        if let state, !group.trim(to: state) {
            throw LogDamage("group \(id.number) is trimmed to entry \(state.trimmed.index), which it has not")
        }
        return true
    }

    private func readMoved(_ reader: inout SegmentReader, _ segment: UInt32, _ base: Int) throws(LogDamage) -> Bool {
        guard let id = reader.group(), let count = reader.number(UInt32.self) else { return false }
        for _ in 0..<count {
            let offset = reader.offset
            guard let entry = reader.entry(of: id) else { return false }
            guard let group = groups[id], let position = group.position(entry.index) else {
                throw LogDamage("entry \(entry.index) of group \(id.number) was moved and is not there")
            }
            let known = group.items[position]
            guard known.place == nil || (known.term == entry.term && known.kind == entry.kind) else {
                throw LogDamage("entry \(entry.index) of group \(id.number) was moved and is another one")
            }
            let place = EntryPlace(segment: segment, length: reader.offset - offset, start: base + offset)
            group.items[position] = Item(place: place, term: entry.term, kind: entry.kind)
        }
        return true
    }

    /// A row of the table, which may be of no use any more.
    private func fill(_ row: EntryHeader, of group: GroupID, _ place: EntryPlace) {
        guard let group = groups[group], let position = group.position(row.index) else { return }
        group.items[position] = Item(place: place, term: row.term, kind: row.kind)
    }

    // MARK: - The end

    /// All has been read.
    func logs() throws(LogDamage) -> [GroupID: GroupEntries] {
        var logs: [GroupID: GroupEntries] = [:]
        for (id, group) in groups {
            let log = GroupEntries()
            log.state = group.state
            var term = group.state.trimmed.term
            for item in group.items[group.head...] {
                let index = log.lastIndex + 1
                guard let place = item.place else {
                    throw LogDamage("entry \(index) of group \(id.number) is in no segment")
                }
                guard item.term >= term else {
                    throw LogDamage("the term falls at entry \(index) of group \(id.number)")
                }
                term = item.term
                log.append(place, index: index, term: item.term, kind: item.kind)
            }
            group.items = []
            logs[id] = log
        }
        return logs
    }
}
