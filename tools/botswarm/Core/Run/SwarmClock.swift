import Dispatch

/// The monotonic clock of the machine, moved so that all workers of a run have the same.
package struct SwarmClock: Sendable, Hashable {
    package var offsetNanoseconds: Int64 = 0

    package init(offsetNanoseconds: Int64 = 0) { self.offsetNanoseconds = offsetNanoseconds }

    package var now: SwarmInstant {
        SwarmInstant(nanoseconds: DispatchTime.now().uptimeNanoseconds).moved(byNanoseconds: offsetNanoseconds)
    }
}
