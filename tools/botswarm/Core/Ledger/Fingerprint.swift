/// 64 bits that stand for a text within this process: the ledger compares content without keeping it.
///
/// Two texts share one with a probability of 2^-64, so a mix-up that stays unseen is not a practical concern.
package struct Fingerprint: Hashable, Sendable {
    private let bits: Int

    package init(_ text: String) {
        var hasher = Hasher()
        hasher.combine(text)
        bits = hasher.finalize()
    }

    /// The content of a message that is not a person's text, by what it says.
    package init(kind: String, _ number: Int) {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(number)
        bits = hasher.finalize()
    }
}
