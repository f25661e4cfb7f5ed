import ChatModel

/// Which shard a room belongs to: the same on every node and for ever, since rooms never move between shards.
public struct ShardMap: Sendable, Hashable {
    /// Fixed when the cluster is created; the ceiling of leader nodes.
    public let shardCount: UInt16

    public static let shardCountDefault: UInt16 = 128

    /// - Precondition: at least one shard.
    public init(shardCount: UInt16) {
        precondition(shardCount > 0, "a cluster has at least one shard")
        self.shardCount = shardCount
    }

    public func shard(of room: RoomID) -> ShardID {
        ShardID(UInt16(Self.hash(room.text.utf8) % UInt64(shardCount)))
    }

    /// FNV-1a over the bytes with the finalizer of MurmurHash3 behind it, because the low bits alone of FNV are weak.
    public static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes {
            hash ^= UInt64(byte)
            hash &*= 0x0000_0100_0000_01b3
        }
        hash ^= hash >> 33
        hash &*= 0xff51_afd7_ed55_8ccd
        hash ^= hash >> 33
        hash &*= 0xc4ce_b9fe_1a85_ec53
        return hash ^ (hash >> 33)
    }
}
