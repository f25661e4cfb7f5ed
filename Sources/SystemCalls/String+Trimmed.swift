extension StringProtocol {
    /// Without white space and line ends at both ends, as a secret is read from a file that an editor has written.
    public var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
