/// FNV-1a, 64 bits (RFC 9923): against faults of ours, like parts of two states put together. The link finds damage on
/// the way.
public struct TransferChecksum: Sendable, Hashable {
    public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    public init() {}

    public init(of bytes: [UInt8]) { add(bytes) }

    public mutating func add(_ bytes: [UInt8]) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    }
}
