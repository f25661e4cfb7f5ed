import CFaultVFS

/// A disk under a test's control, on which databases are opened by `vfs` name. See `CFaultVFS.h` for what it models.
public final class FaultDisk: @unchecked Sendable {
    // Sendable because every C function here takes the disk's own lock, and the address never changes.
    private let disk: OpaquePointer
    /// The name of the VFS.
    public let vfs: String

    public init() {
        vfs = "fault-\(UInt64.random(in: 0 ... .max))"
        guard let disk = chatroom_fault_vfs_create(vfs) else { preconditionFailure("no memory for a disk") }
        self.disk = disk
    }

    /// No file may be open on it any more.
    deinit { chatroom_fault_vfs_destroy(disk) }

    /// The next `count` syncs fail; nil: all of them until told otherwise.
    public func failSyncs(_ count: Int64?) { chatroom_fault_vfs_fail_syncs(disk, count ?? -1) }

    public var isFull = false { didSet { chatroom_fault_vfs_set_full(disk, isFull ? 1 : 0) } }

    /// Database files can't be written, write-ahead logs can.
    public var isDatabaseFull = false {
        didSet { chatroom_fault_vfs_set_database_full(disk, isDatabaseFull ? 1 : 0) }
    }

    /// Every write answers EIO.
    public var isFailing = false { didSet { chatroom_fault_vfs_set_failing_writes(disk, isFailing ? 1 : 0) } }

    /// The disk is full when `writes` more have been done, until `isFull` is set.
    public func fillUp(after writes: Int64) { chatroom_fault_vfs_fill_up_after(disk, writes) }

    public func delaySyncs(microseconds: UInt32) { chatroom_fault_vfs_delay_syncs(disk, microseconds) }

    public func cutPower() { chatroom_fault_vfs_cut_power(disk) }

    public func cutPower(after operations: Int64) { chatroom_fault_vfs_cut_power_after(disk, operations) }

    /// Ends a power cut; false while files are open. Seed 0 loses everything unsynced, others an arbitrary part of it.
    public func powerOn(seed: UInt64) -> Bool { chatroom_fault_vfs_power_on(disk, seed) == 0 }

    public var isPowered: Bool { chatroom_fault_vfs_is_powered(disk) != 0 }

    /// Writes, truncations, syncs and deletions so far.
    public var operations: Int64 { chatroom_fault_vfs_operations(disk) }

    public var syncs: Int64 { chatroom_fault_vfs_syncs(disk) }
}
