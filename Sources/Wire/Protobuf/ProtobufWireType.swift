/// How a field's value is laid out (Protocol Buffers encoding, "Message Structure"). Groups (3, 4) are refused.
public enum ProtobufWireType: UInt8, Sendable {
    case varint = 0
    case fixed64 = 1
    case lengthDelimited = 2
    case fixed32 = 5

    /// The one that a field's tag says.
    @inline(__always)
    init?(tag: UInt64) {
        switch tag & 7 {
        case 0: self = .varint
        case 1: self = .fixed64
        case 2: self = .lengthDelimited
        case 5: self = .fixed32
        default: return nil
        }
    }
}
