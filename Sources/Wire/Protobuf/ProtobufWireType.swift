/// How a field's value is laid out (Protocol Buffers encoding, "Message Structure"). Groups (3, 4) are refused.
public enum ProtobufWireType: UInt8, Sendable {
    case varint = 0
    case fixed64 = 1
    case lengthDelimited = 2
    case fixed32 = 5
}
