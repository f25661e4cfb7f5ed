import Consensus
import LogStore
import StorageTestKit
import Testing

@testable import GroupDriver

@Suite struct StoredGroupTests {
    @Test func `a core that is made anew knows every change of its servers, however much came after it`() async throws {
        let directory = try TemporaryDirectory()
        var settings = LogStoreConfiguration(directory: directory.path + "/log")
        (settings.create, settings.recentBytesPerGroup) = (true, 1_000)
        let store = try LogStore.open(settings)
        defer { store.close() }
        let servers = ["a", "b", "c"].map { ServerID(node: $0, store: 1) }
        let alone = GroupMembership(voters: [servers[0]])
        let all = GroupMembership(voters: servers)
        var entries = [Entry(index: 1, term: 1, kind: .membership, payload: all.encoded())]
        let payload = [UInt8](repeating: 7, count: 100)
        entries += (2...100).map { Entry(index: $0, term: 1, kind: .command, payload: payload) }
        let save = GroupSave(
            group: GroupID(0), hardState: HardState(term: 1),
            snapshot: SnapshotMark(index: 0, term: 0, membership: alone), entries: entries)
        await withCheckedContinuation { continuation in
            store.save([save]) { result in
                if case .failure(let error) = result { Issue.record(error) }
                continuation.resume()
            }
        }
        let log = try store.restored(GroupID(0)).restoredLog(appliedIndex: 0, recentBytesMax: 1 << 20)
        #expect(log.lastIndex == 100 && log.memberships.map(\.index) == [1])
        let core = try RaftGroup(id: servers[0], group: GroupID(0), start: .restored(log), randomSeed: 1)
        #expect(core.membership == all)
        #expect(!core.isLeader, "one of three does not lead by itself")
    }
}
