import ChatModel
import Glibc
import Synchronization

/// The machine's wall clock.
enum WallClock {
    static func now() -> Timestamp { Timestamp(milliseconds(CLOCK_REALTIME)) }

    /// The time by which a node stamps and removes: the machine's, unless somebody has just set that (`SteadyTime`).
    static func steady() -> @Sendable () -> Timestamp {
        let time = SteadyTime()
        return { Timestamp(time.time(of: milliseconds(CLOCK_REALTIME), at: milliseconds(CLOCK_BOOTTIME))) }
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// A time that does not follow a clock at once when that is set by more than a moment.
///
/// One wrong second of a leader's clock would end mutes, polls and deleted rooms for good, and its stamps can't be taken
/// back. So time goes on as before until the others have had the chance to say that the clock is wrong, after which this
/// node leads nothing (`ClockWatch`, every 5 seconds). A clock that stands where it was set for longer is followed.
final class SteadyTime: Sendable {
    /// A step that is followed at once.
    static let stepMillisecondsMax: Int64 = 2_000
    /// For so long a longer one is not followed.
    static let doubtMilliseconds: Int64 = 15_000

    /// The clock's distance to one that nobody sets; `Int64.min` before the first look.
    private let distance = Atomic<Int64>(.min)
    /// Since when the clock has another distance; 0: it has not.
    private let doubtedAt = Atomic<Int64>(0)

    /// - Parameters:
    ///   - clock: what the clock shows, in milliseconds.
    ///   - steady: what a clock shows that nobody sets and that does not stand still when the machine sleeps; above 0.
    func time(of clock: Int64, at steady: Int64) -> Int64 {
        let (new, known) = (clock - steady, distance.load(ordering: .relaxed))
        if known == .min || (new - known).magnitude <= Self.stepMillisecondsMax.magnitude {
            if new != known { distance.store(new, ordering: .relaxed) }
            if doubtedAt.load(ordering: .relaxed) != 0 { doubtedAt.store(0, ordering: .relaxed) }
            return clock
        }
        let since = doubtedAt.load(ordering: .relaxed)
        if since == 0 {
            doubtedAt.store(steady, ordering: .relaxed)
        } else if steady - since >= Self.doubtMilliseconds {
            distance.store(new, ordering: .relaxed)
            doubtedAt.store(0, ordering: .relaxed)
            return clock
        }
        return steady + known
    }
}
