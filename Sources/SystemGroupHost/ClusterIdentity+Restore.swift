import ChatModel

/// A restore makes a new cluster, whose ID says so: `<uuid>+<generation>`. With the ID all its nodes have the generation.
extension ClusterIdentity {
    /// Which restore has made this cluster, and with it the epochs of its rooms; 0 for a cluster that was created.
    public var restoreGeneration: UInt64 {
        guard let plus = id.lastIndex(of: "+") else { return 0 }
        return UInt64(id[id.index(after: plus)...]) ?? 0
    }

    /// The cluster that a restore makes of a backup of this one. The generation is the time in milliseconds: two
    /// restores of one backup differ too.
    public func restored(uuid: String, at time: Timestamp) -> ClusterIdentity {
        let generation = max(restoreGeneration &+ 1, UInt64(clamping: time.milliseconds))
        return ClusterIdentity(id: "\(uuid)+\(generation)", shardCount: shardCount)
    }
}
