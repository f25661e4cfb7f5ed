import ClientCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A clock that goes on while the device sleeps: after 10 minutes of sleep no send may be repeated. It is what
/// `ContinuousClock` reads, which is not there before iOS 16.
enum ClientClock {
    static var now: ClientInstant {
        #if canImport(Darwin)
            let clock = CLOCK_MONOTONIC_RAW
        #else
            let clock = CLOCK_BOOTTIME
        #endif
        var time = timespec()
        // Fails only for a clock that the system does not have.
        clock_gettime(clock, &time)
        return ClientInstant(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
