import Consensus

extension SnapshotMark {
    /// For the disk: as the mark travels.
    public var encoded: [UInt8] { ReplicationMessage(group: .system, transfer: 0, .beginSnapshot(self)).encoded }

    /// Throws `malformed`.
    public init(decoding bytes: [UInt8]) throws(ReplicationError) {
        guard case .beginSnapshot(let mark) = try ReplicationMessage(decoding: bytes).body else {
            throw ReplicationError(.malformed, "that is no snapshot's mark")
        }
        self = mark
    }
}
