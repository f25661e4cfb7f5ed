/// Which part of a run's bots a process has.
package struct WorkerPart: Sendable, Hashable, Codable {
    package var index = 0
    package var count = 1
    /// The offset that this process adds to its monotonic clock so that all have the same, and its error.
    package var clockOffsetNanoseconds: Int64 = 0
    package var clockErrorNanoseconds: Int64 = 0

    package init() {}

    /// Bots of each room are spread over all workers.
    package func has(_ bot: BotID, rooms: Int) -> Bool { bot.number / rooms % count == index }
}

/// With whom a run keeps step: nobody, or the coordinator of several workers.
package protocol Conductor: Sendable {
    /// Waits until all workers have come to this point.
    func reach(_ point: RunPoint) async throws(SwarmFailure)
    /// Tells all others what was sent, room by room, and hears the same from each of them.
    func exchange(
        _ statements: [Int: [MessageStatement]], hear: @Sendable (Int, [MessageStatement]) -> Void
    ) async throws(SwarmFailure)
}

/// Where workers wait for each other.
package enum RunPoint: Hashable, Sendable, Codable {
    case entered
    /// Before the stage of this number.
    case stage(Int)
    /// All have ended their sending, and been answered.
    case sent
    /// All has arrived.
    case settled
}

/// A run of one process.
package struct Alone: Conductor {
    package init() {}
    package func reach(_ point: RunPoint) async throws(SwarmFailure) {}
    package func exchange(
        _ statements: [Int: [MessageStatement]], hear: @Sendable (Int, [MessageStatement]) -> Void
    ) async throws(SwarmFailure) {}
}
