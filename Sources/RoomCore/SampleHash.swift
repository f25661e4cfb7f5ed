import ChatModel

/// Decides by a hash which senders are in a sample. The hash prefers no sender, and every viewer gets the same sample.
public enum SampleHash {
    /// SplitMix64's finalizer.
    static func mix(_ value: UInt64) -> UInt64 {
        var z = value &* 0x9e37_79b9_7f4a_7c15
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// The hash of a session, whose ID nobody chooses (FNV-1a).
    public static func sender(_ session: SessionID) -> UInt64 { text(session.text) }

    /// FNV-1a.
    static func text(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }

    /// The hash of one item of a session, by its number.
    public static func item(of sender: UInt64, number: UInt64) -> UInt64 { mix(sender ^ mix(number)) }
}
