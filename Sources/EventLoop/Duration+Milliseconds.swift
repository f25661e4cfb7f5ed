extension Duration {
    /// For ``EventLoop/schedule(afterMilliseconds:repeatingMilliseconds:_:)``: rounded up; 0 for a negative one.
    public var wholeMilliseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let rest = (UInt64(attoseconds) + 999_999_999_999_999) / 1_000_000_000_000_000
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : whole + rest
    }
}
