import Dispatch

/// The monotonic clock of the process.
enum SwarmClock {
    static var now: SwarmInstant { SwarmInstant(nanoseconds: DispatchTime.now().uptimeNanoseconds) }
}
