import ChatModel
import Testing

@testable import Consensus

@Suite struct SoleVoterTests {
    let me = ServerID(node: "a", store: 1)

    private func alone() throws -> RaftGroup {
        try RaftGroup(
            id: me, group: GroupID(1), start: .bootstrap(GroupMembership(voters: [me])), randomSeed: 1)
    }

    private func elected() throws -> RaftGroup {
        var core = try alone()
        while true {
            let output = core.takeOutput()
            if output.isEmpty { return core }
            if let save = output.save { core.persisted(save: save.number) }
            if let last = output.committed.last { core.applied(upTo: last.index) }
        }
    }

    @Test func `a sole voter elects itself in a new term that is on disk before anything else`() throws {
        var core = try alone()
        #expect(core.role == .candidate)
        let first = core.takeOutput()
        #expect(first.save?.hardState == HardState(term: 1, votedFor: me))
        #expect(first.save?.snapshot == SnapshotMark(index: 0, term: 0, membership: GroupMembership(voters: [me])))
        #expect(first.save?.entries == [])
        #expect(first.messages.isEmpty && first.committed.isEmpty)
        #expect(core.role == .candidate, "the vote does not count before it is on disk")
        #expect(core.takeOutput().isEmpty)

        core.persisted(save: 1)
        #expect(core.role == .leader)
        let second = core.takeOutput()
        #expect(second.leadership == RaftOutput.Leadership(role: .leader, term: 1, leader: me))
        #expect(second.save?.entries == [Entry(index: 1, term: 1, kind: .empty, payload: [])])
        #expect(second.committed.isEmpty)

        core.persisted(save: 2)
        #expect(core.takeOutput().committed.map(\.index) == [1])
        #expect(core.isEstablished)
    }

    @Test func `a group has as many servers as can be written down, and one more is refused`() throws {
        var core = try elected()
        func add(_ number: UInt64) throws {
            _ = try core.proposeMembership(.addLearner(ServerID(node: "n\(number)", store: number)))
            while let save = core.takeOutput().save { core.persisted(save: save.number) }
        }
        for number in 1...UInt64(254) { try add(number) }
        #expect(core.membership.learners.count == 254)
        #expect(GroupMembership(decoding: core.membership.encoded()) == core.membership)
        let error = #expect(throws: RaftError.self) { try add(255) }
        #expect(error?.code == .tooManyServers)
    }

    @Test func `a proposal is committed when its save is on disk and not before`() throws {
        var core = try elected()
        #expect(try core.propose([[1], [2]]) == 2...3)
        let saving = core.takeOutput()
        #expect(saving.save?.entries.map(\.payload) == [[1], [2]])
        #expect(saving.committed.isEmpty)
        #expect(try core.propose([[3]]) == 4...4)
        let next = core.takeOutput()
        core.persisted(save: try #require(saving.save).number)
        #expect(core.takeOutput().committed.map(\.index) == [2, 3])
        core.persisted(save: try #require(next.save).number)
        #expect(core.takeOutput().committed.map(\.index) == [4])
        #expect(core.takeOutput().isEmpty)
    }

    @Test func `a report of a later save covers the earlier ones and a doubled one does nothing`() throws {
        var core = try elected()
        _ = try core.propose([[1]])
        _ = core.takeOutput()
        _ = try core.propose([[2]])
        let second = try #require(core.takeOutput().save)
        core.persisted(save: second.number)
        #expect(core.takeOutput().committed.map(\.payload) == [[1], [2]])
        core.persisted(save: second.number)
        core.persisted(save: second.number - 1)
        core.persisted(save: second.number + 7)
        #expect(core.takeOutput().isEmpty)
    }

    @Test func `a sole voter answers reads at once`() throws {
        var core = try elected()
        try core.readIndex(9)
        #expect(core.takeOutput().readStates == [RaftOutput.ReadState(token: 9, index: 1)])
    }

    @Test func `a restarted sole voter leads in a later term and commits what it had`() throws {
        let cluster = try TestCluster(["a"])
        try cluster.propose("a", "x", "y")
        cluster.crash("a")
        try cluster.restart("a")
        #expect(cluster["a"].term == 2)
        #expect(cluster["a"].isLeader)
        // Both lives hand out everything after what was durably applied, here nothing.
        #expect(cluster.commands("a") == ["x", "y", "x", "y"])
    }

    @Test func `a sole voter lives on without ticks from others`() throws {
        var core = try elected()
        for _ in 0..<100 { core.tick() }
        #expect(core.isLeader)
        #expect(core.takeOutput().isEmpty)
    }

    @Test func `proposals are bounded`() throws {
        var configuration = RaftConfiguration()
        configuration.proposalBytesMax = 1_000
        configuration.entryBytesMax = 500
        let cluster = try TestCluster(["a"], configuration: configuration)
        #expect(throws: RaftError.self) { try cluster.act("a") { try $0.propose([]) } }
        #expect(throws: RaftError.self) { try cluster.act("a") { try $0.propose([Array(repeating: 0, count: 501)]) } }
        cluster.holdDisk("a")
        let payload = [UInt8](repeating: 0, count: 436)
        _ = try cluster.act("a") { try $0.propose([payload]) }
        _ = try cluster.act("a") { try $0.propose([payload]) }
        let error = #expect(throws: RaftError.self) { try cluster.act("a") { try $0.propose([payload]) } }
        #expect(error?.code == .tooManyUncommitted)
        #expect(cluster["a"].lastIndex == 3, "a refused proposal leaves nothing behind")
        cluster.releaseDisk("a")
        _ = try cluster.act("a") { try $0.propose([payload]) }
        #expect(cluster["a"].commitIndex == 4)
    }

    @Test func `committed entries come in bounded portions and wait when nothing is applied`() throws {
        var configuration = RaftConfiguration()
        configuration.committedBytesMax = 200
        configuration.applyingBytesMax = 300
        var core = try RaftGroup(
            id: me, group: GroupID(1), configuration: configuration,
            start: .bootstrap(GroupMembership(voters: [me])), randomSeed: 1)
        core.persisted(save: try #require(core.takeOutput().save).number)
        _ = try core.propose(Array(repeating: [0], count: 9))
        core.persisted(save: try #require(core.takeOutput().save).number)
        var portions: [[UInt64]] = []
        while true {
            let output = core.takeOutput()
            if output.committed.isEmpty { break }
            portions.append(output.committed.map(\.index))
        }
        #expect(portions == [[1, 2, 3], [4, 5, 6]])
        core.applied(upTo: 3)
        #expect(core.takeOutput().committed.map(\.index) == [7, 8, 9])
    }
}
