import ChatModel
import Wire

/// As it travels. Numbers are on the wire: they are never changed or used again.
struct WiredUse: WireMessage {
    var use: UserUse

    init(_ use: UserUse) { self.use = use }

    static var blank: WiredUse { WiredUse(UserUse(user: .blank)) }
    static var schemaName: String { "UserUse" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (changes, reads) = (UInt64(clamping: use.changes), UInt64(clamping: use.reads))
        var bytes = UInt64(clamping: use.bytes)
        try walker.required(1, "user", &use.user)
        try walker.shown(2, "changes", &changes)
        try walker.shown(3, "reads", &reads)
        try walker.shown(4, "bytes", &bytes)
        guard W.isDecoding else { return }
        (use.changes, use.reads, use.bytes) = (Int(clamping: changes), Int(clamping: reads), Int(clamping: bytes))
    }
}
