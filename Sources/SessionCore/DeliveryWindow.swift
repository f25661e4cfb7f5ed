/// When the next fan-out of a room may begin: at once, unless messages come faster than they can be written one by one.
///
/// A fan-out that carried several messages shows that they do. The next one then waits as long as this one took, at most
/// ``waitMaxNanoseconds``, so that more messages share its writes and half of the time is left for others. One that
/// carried a single message ends that. Times are of a monotonic clock, in nanoseconds.
public struct DeliveryWindow: Sendable, Hashable {
    /// The longest that messages wait for each other (20 ms).
    public static let waitMaxNanoseconds: UInt64 = 20_000_000
    /// A shorter wait is not worth a timer, whose unit this is (1 ms).
    public static let waitMinNanoseconds: UInt64 = 1_000_000

    private var costNanoseconds: UInt64 = 0
    /// The next fan-out does not begin before.
    public private(set) var beginNanoseconds: UInt64 = 0

    public init() {}

    /// A part of the fan-out took this long.
    public mutating func spent(nanoseconds: UInt64) { costNanoseconds += nanoseconds }

    /// The fan-out has ended, which carried that many messages.
    public mutating func ended(messages: Int, atNanoseconds now: UInt64) {
        let wait = min(costNanoseconds, Self.waitMaxNanoseconds)
        beginNanoseconds = messages > 1 && wait >= Self.waitMinNanoseconds ? now + wait : 0
        costNanoseconds = 0
    }

    /// Whether the fan-out of what has come may begin, or go on.
    public func isOpen(atNanoseconds now: UInt64) -> Bool { now >= beginNanoseconds }
}
