/// The cluster's keys as the link uses them; the crypto is the owner's.
public struct LinkKeys: Sendable {
    /// Bytes of a proof.
    public static let proofBytesMax = 64

    /// A message authentication code of what is given, with the key that this node seals with.
    public var prove: @Sendable ([UInt8]) -> [UInt8]
    /// Whether that is a code of what is given with any of the keys, in a time that does not depend on where it differs.
    public var accepts: @Sendable (_ proof: [UInt8], _ statement: [UInt8]) -> Bool

    public init(
        prove: @escaping @Sendable ([UInt8]) -> [UInt8],
        accepts: @escaping @Sendable (_ proof: [UInt8], _ statement: [UInt8]) -> Bool
    ) {
        self.prove = prove
        self.accepts = accepts
    }
}
