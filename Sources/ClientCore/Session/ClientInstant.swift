/// A moment of the client's own clock, which never goes back and means nothing to others.
public struct ClientInstant: Hashable, Sendable, Comparable {
    /// Milliseconds since some moment in the past.
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (a: ClientInstant, b: ClientInstant) -> Bool { a.milliseconds < b.milliseconds }

    /// Later by `delta` milliseconds; saturates instead of trapping.
    public func adding(milliseconds delta: Int64) -> ClientInstant {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return ClientInstant(milliseconds: overflow ? (delta > 0 ? .max : .min) : sum)
    }
}
