import ChatModel
import Testing

@testable import Consensus

@Suite struct RestoredLogTests {
    let me = ServerID(node: "a", store: 1)
    var members: GroupMembership { GroupMembership(voters: [me, ServerID(node: "b", store: 1)]) }

    private func entry(_ index: UInt64, _ term: UInt64, kind: Entry.Kind = .command, _ payload: [UInt8] = [1]) -> Entry
    {
        Entry(index: index, term: term, kind: kind, payload: payload)
    }

    private func start(_ restored: RestoredLog) throws -> RaftGroup {
        try RaftGroup(id: me, group: GroupID(1), start: .restored(restored), randomSeed: 1)
    }

    private func log(
        mark: SnapshotMark?, term: UInt64 = 5, applied: UInt64 = 0, recentBytesMax: Int = 1_000, _ entries: Entry...
    ) -> RestoredLog {
        var log = RestoredLog(
            hardState: HardState(term: term), snapshot: mark, appliedIndex: applied, recentBytesMax: recentBytesMax)
        for entry in entries { log.append(entry) }
        return log
    }

    @Test func `a server knows what its disk knew`() throws {
        let other = GroupMembership(voters: [me, ServerID(node: "c", store: 1)])
        let mark = SnapshotMark(index: 3, term: 2, membership: members)
        let core = try start(
            log(
                mark: mark, entry(3, 2), entry(4, 2), entry(5, 4, kind: .membership, other.encoded()), entry(6, 4)))
        #expect(core.term == 5 && core.lastIndex == 6 && core.lastTerm == 4)
        #expect(core.persistedIndex == 6 && core.commitIndex == 3)
        #expect(core.membership == other)
        #expect(core.log.term(at: 4) == 2 && core.log.term(at: 3) == 2 && core.log.term(at: 2) == nil)
    }

    @Test func `only a tail is kept in memory`() throws {
        let mark = SnapshotMark(index: 0, term: 0, membership: members)
        let restored = log(mark: mark, recentBytesMax: 140, entry(1, 1), entry(2, 1), entry(3, 1), entry(4, 2))
        #expect(restored.recentEntries.map(\.index) == [3, 4])
        let core = try start(restored)
        #expect(core.log.windowFirstIndex == 3 && core.firstIndex == 1)
        #expect(core.log.term(at: 1) == 1)
    }

    @Test func `a store may give ranges of terms for what it does not have at hand`() throws {
        let other = GroupMembership(voters: [me, ServerID(node: "c", store: 1)])
        var restored = RestoredLog(
            hardState: HardState(term: 5), snapshot: SnapshotMark(index: 3, term: 2, membership: members))
        restored.append(2...7, term: 2)
        restored.append(entry(8, 4, kind: .membership, other.encoded()))
        restored.append(9...20, term: 4)
        restored.append(entry(21, 5))
        #expect(restored.recentEntries.map(\.index) == [21], "what is kept has no holes")
        let core = try start(restored)
        #expect(core.lastIndex == 21 && core.membership == other)
        #expect(
            (UInt64(2)...21).map { core.log.term(at: $0) } == Array(repeating: 2, count: 6)
                + Array(repeating: 4, count: 13) + [5])
        restored.append(23...24, term: 5)
        #expect(throws: RaftError.self) { try start(restored) }
    }

    @Test func `a snapshot that is newer than the log replaces it`() throws {
        let mark = SnapshotMark(index: 9, term: 4, membership: members)
        var core = try start(log(mark: mark, entry(1, 1), entry(2, 1)))
        #expect(core.lastIndex == 9 && core.commitIndex == 9)
        let save = core.takeOutput().save
        #expect(save?.replacesLog == true && save?.snapshot == mark && save?.entries == [])
    }

    @Test func `a log that contradicts the snapshot is replaced by it`() throws {
        let mark = SnapshotMark(index: 2, term: 4, membership: members)
        var core = try start(log(mark: mark, entry(1, 1), entry(2, 1), entry(3, 1)))
        #expect(core.lastIndex == 2 && core.lastTerm == 4)
        #expect(core.takeOutput().save?.replacesLog == true)
    }

    @Test func `what contradicts itself is refused`() throws {
        let mark = SnapshotMark(index: 3, term: 2, membership: members)
        let broken: [(String, RestoredLog)] = [
            ("a hole in the entries", log(mark: mark, entry(4, 2), entry(6, 2))),
            ("terms that fall", log(mark: mark, entry(4, 3), entry(5, 2))),
            ("a hole after the snapshot", log(mark: mark, entry(5, 2))),
            ("an entry of the future", log(mark: mark, term: 1, entry(4, 2))),
            ("a snapshot of the future", log(mark: mark, term: 1)),
            ("an index of 0", log(mark: nil, entry(0, 1))),
            ("an unreadable membership", log(mark: mark, entry(4, 2, kind: .membership, [9]))),
            ("more applied than there is", log(mark: mark, applied: 5, entry(4, 2))),
            ("entries without a beginning", log(mark: nil, entry(2, 1))),
        ]
        for (what, restored) in broken {
            let error = #expect(throws: RaftError.self, "\(what)") { try start(restored) }
            #expect(error?.code == .corruptLog)
        }
    }

    @Test func `entries that only the disk has are fetched before they are applied`() throws {
        let mark = SnapshotMark(index: 0, term: 0, membership: GroupMembership(voters: [me]))
        let stored = (UInt64(1)...4).map { entry($0, 1, [UInt8($0)]) }
        var restored = RestoredLog(hardState: HardState(term: 1), snapshot: mark, recentBytesMax: 70)
        for entry in stored { restored.append(entry) }
        var core = try start(restored)
        core.persisted(save: try #require(core.takeOutput().save).number)
        core.persisted(save: try #require(core.takeOutput().save).number)
        let fetch = try #require(core.takeOutput().fetches.first)
        #expect(fetch.purpose == .apply && fetch.range == 1...3)
        #expect(core.takeOutput().isEmpty, "it is asked for once")

        core.fetched([], for: fetch)
        #expect(core.takeOutput().isEmpty, "an unreadable disk is not asked again at once")
        core.tick()
        #expect(core.takeOutput().fetches == [fetch])

        core.fetched([stored[1]], for: fetch)
        #expect(core.takeOutput().committed.isEmpty, "an answer with another beginning is not used")
        core.tick()
        for wrong in [[stored[0], stored[2]], [entry(1, 9)]] {
            let again = try #require(core.takeOutput().fetches.first)
            core.fetched(wrong, for: again)
            core.tick()
        }
        #expect(core.takeOutput().fetches == [fetch], "nor one with a hole or of another term")
        core.fetched(Array(stored[0...1]), for: fetch)
        #expect(core.takeOutput().committed == Array(stored[0...1]))
        let rest = try #require(core.takeOutput().fetches.first)
        #expect(rest.range == 3...3)
        core.fetched([stored[2]], for: rest)
        #expect(core.takeOutput().committed == [stored[2]])
        #expect(core.takeOutput().committed.map(\.index) == [4, 5])
    }
}
