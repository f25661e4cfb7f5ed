/// Something that happens so many times a second in a stage.
struct Happening {
    private let intervalNanoseconds: UInt64
    private var due: SwarmInstant
    private let action: () -> Void

    /// Happenings that can't be made up for at once are left out.
    private static let lateMax = 100

    /// - Parameter ratePerSecond: 0 is never.
    init(_ ratePerSecond: Double, _ now: SwarmInstant, _ action: @escaping () -> Void) {
        intervalNanoseconds = ratePerSecond > 0 ? UInt64(min(1e9 / ratePerSecond, 1e15)) : 0
        due = now.moved(byNanoseconds: Int64(intervalNanoseconds))
        self.action = action
    }

    mutating func run(_ now: SwarmInstant) {
        guard intervalNanoseconds > 0 else { return }
        var count = 0
        while due <= now {
            due = due.moved(byNanoseconds: Int64(intervalNanoseconds))
            count += 1
            if count <= Self.lateMax { action() }
        }
    }
}
