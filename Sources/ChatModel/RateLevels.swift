/// How much of its rates is left to whom, as it travels with a session to another node: in thousandths, of the bytes in
/// bytes; below zero for a debt.
public struct RateLevels: Sendable, Hashable {
    public var changes: Int64 = 0
    public var reads: Int64 = 0
    public var bytes: Int64 = 0
    public var repeats: Int64 = 0
    /// nil: none have been taken lately.
    public var tapRequests: Int64?
    public var taps: Int64?
    /// The same of searches.
    public var searches: Int64?

    public init() {}
}
