import ChatModel

extension Timestamp {
    /// Milliseconds since an earlier moment; saturates instead of trapping.
    func milliseconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return overflow ? (milliseconds > earlier.milliseconds ? .max : .min) : difference
    }
}
