/// The saves of one consensus group: how many are on their way to the disk, and whether the disk takes them.
///
/// A save that fails leaves the core behind what it has said, so the core stops, and is made anew from what is on disk.
struct GroupSaves {
    private enum Disk {
        /// It takes what is saved, as far as known. Can become: `failed`.
        /// - overdueTicks: for how long saves have been on their way of which none has arrived, though other servers have
        ///   saved as much.
        case works(overdueTicks: Int)
        /// The last save has failed, and the core has stopped. Can become: `reading`.
        case failed(ticks: Int)
        /// The core has stopped, and the log on disk is being read for a new one. Can become: `works`, with that; `failed`.
        case reading
    }

    private var disk = Disk.works(overdueTicks: 0)
    /// How many saves are on their way, of this core and of former ones.
    private(set) var inFlight = 0
    /// The number of times that the core was made anew: answers to saves of an earlier one mean nothing to it.
    private(set) var generation = 0

    var hasFailed: Bool { if case .works = disk { false } else { true } }

    /// Whether the disk hangs, which says nothing by itself.
    var isOverdue: Bool { if case .works(Self.overdueTicksMax...) = disk { true } else { false } }

    /// How long a save may last before this replica leaves leading to another one: 3 s.
    private static let overdueTicksMax = 30
    /// A second.
    private static let ticksBeforeRestart = 10

    /// A save is on its way.
    mutating func begin() { inFlight += 1 }

    /// A save is on disk.
    /// - Returns: whether it is one of this core.
    mutating func onSaved(generation: Int) -> Bool {
        inFlight -= 1
        if case .works = disk { disk = .works(overdueTicks: 0) }
        return generation == self.generation
    }

    /// A save has failed.
    /// - Returns: whether the core has to stop because of it.
    mutating func onFailed(generation: Int) -> Bool {
        inFlight -= 1
        guard generation == self.generation, !hasFailed else { return false }
        disk = .failed(ticks: 0)
        return true
    }

    /// - Parameter isBehind: whether others have saved what this server has not. Where all are slow, to leave leading
    ///   would make it worse.
    mutating func tick(isBehind: Bool) {
        switch disk {
        case .works(let ticks): disk = .works(overdueTicks: inFlight > 0 && isBehind ? ticks + 1 : 0)
        case .failed(let ticks): disk = .failed(ticks: ticks + 1)
        case .reading: break
        }
    }

    /// Whether the core is to be made anew. One that is made while saves are on their way would not know of them.
    var isRestartDue: Bool { if case .failed(Self.ticksBeforeRestart...) = disk { inFlight == 0 } else { false } }

    /// The log on disk is being read.
    mutating func onRestartBegun() { disk = .reading }

    /// The core could not be made anew: a second later it is tried again.
    mutating func onRestartFailed() { disk = .failed(ticks: 0) }

    /// The core has been made anew from what is on disk.
    mutating func onRestarted() {
        disk = .works(overdueTicks: 0)
        generation += 1
    }
}
