/// A moment of the swarm's monotonic clock. It needs no clock of the server: sender and viewer are in one process, or
/// their workers have compared their clocks.
package struct SwarmInstant: Hashable, Sendable, Comparable {
    /// Since an arbitrary beginning.
    package let nanoseconds: UInt64

    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// How long after `earlier` this is; 0 if it is not after.
    package func microseconds(since earlier: SwarmInstant) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? (nanoseconds - earlier.nanoseconds) / 1000 : 0
    }

    package func adding(milliseconds: UInt64) -> SwarmInstant {
        SwarmInstant(nanoseconds: nanoseconds &+ milliseconds &* 1_000_000)
    }

    package func moved(byNanoseconds nanoseconds: Int64) -> SwarmInstant {
        SwarmInstant(nanoseconds: UInt64(clamping: Int64(clamping: self.nanoseconds) &+ nanoseconds))
    }

    package static func <= (a: SwarmInstant, b: SwarmInstant) -> Bool { a.nanoseconds <= b.nanoseconds }
    package static func < (a: SwarmInstant, b: SwarmInstant) -> Bool { a.nanoseconds < b.nanoseconds }
}
