import ChatModel
import Consensus
import Replication
import StorageTestKit
import Testing

enum Names {
    static func node(_ text: String) throws -> NodeID { try #require(NodeID(text)) }
}

let group = GroupID(3)

func mark(_ index: UInt64) -> SnapshotMark {
    SnapshotMark(
        index: index, term: 2,
        membership: GroupMembership(voters: [ServerID(node: "a", store: 1)], learners: [ServerID(node: "b", store: 2)]))
}

extension SeededGenerator {
    /// True in `percent` of the cases.
    mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count { bytes.append(UInt8(truncatingIfNeeded: next())) }
        return bytes
    }
}
