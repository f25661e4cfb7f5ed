/// A client's frame of which some requests have been taken, and the others wait: until its token has been checked, or
/// until it has read what it was answered.
struct UnfinishedFrame {
    /// The frame from where it first had to wait, at most `Limits.clientFrameBytes`.
    let bytes: [UInt8]
    /// Where those begin that wait.
    var position = 0
    /// How many of the frame have been taken, right ones and others.
    var count: Int
}
