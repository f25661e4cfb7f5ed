import ChatModel

/// One pair of a map, as protobuf has it.
struct MapEntry: WireMessage {
    var pair = QueuePair(key: "", value: "")

    static var blank: MapEntry { MapEntry() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "key", &pair.key)
        try walker.shown(2, "value", &pair.value)
    }
}

extension QueuePair {
    /// The error, if the pair breaks the limits of a map's key or value.
    func violation(keyBytes: Int, valueBytes: Int) -> ChatError? {
        if let wrong = key.violation(of: .nonEmptyBytes(keyBytes)) {
            return ChatError(wrong.code, "key \(wrong.message)")
        }
        if let wrong = value.violation(of: .bytes(valueBytes)) {
            return ChatError(wrong.code, "value \(wrong.message)")
        }
        return nil
    }
}
