import ChatModel

extension ClientFrame {
    /// Whether the first bytes of a frame show that it begins with a `connect`: nothing but the `id` comes before it, and
    /// its key is written as it is. The function does not look at the value.
    ///
    /// Stricter than ``beginsWithConnect(_:_:)``, which has to see the whole request; what clients write passes both.
    public static func showsConnect(_ beginning: UnsafeRawBufferPointer, _ encoding: ClientEncoding) -> Bool {
        switch encoding {
        case .json: showsConnect(inJSON: beginning)
        case .protobuf: showsConnect(inProtobuf: beginning)
        }
    }

    private static func showsConnect(inJSON bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        func takes(_ text: StaticString) -> Bool {
            let start = JSONDocument.skipSpace(bytes, from: position)
            let wanted = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
            guard bytes[start...].starts(with: wanted) else { return false }
            position = start + wanted.count
            return true
        }
        guard takes("{") else { return false }
        if takes(#""id""#) {
            guard takes(":") else { return false }
            position = JSONDocument.skipSpace(bytes, from: position)
            while position < bytes.count, (0x30...0x39).contains(bytes[position]) { position += 1 }
            guard takes(",") else { return false }
        }
        return takes(#""connect""#) && takes(":")
    }

    private static func showsConnect(inProtobuf bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        // The length of the message.
        guard Varint.read(bytes, at: &position) != nil, var tag = Varint.read(bytes, at: &position) else {
            return false
        }
        if tag == 1 << 3 {
            guard Varint.read(bytes, at: &position) != nil, let next = Varint.read(bytes, at: &position) else {
                return false
            }
            tag = next
        }
        return tag == UInt64(OperationDeclaration.connect.number) << 3 | 2
    }
}
