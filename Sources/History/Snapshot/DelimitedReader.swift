import ChatModel
import Wire

/// Cuts a stream of bytes into the messages it is made of, each with its length before it. Keeps at most one message
/// that is not complete.
struct DelimitedReader<Message: WireMessage>: Sendable {
    /// The most bytes of one message: far over what rows are, and what a receiver keeps in memory at most.
    static var messageBytesMax: Int { 16 << 20 }

    private var rest: [UInt8] = []

    /// Bytes that wait for the rest of their message.
    var waitingBytes: Int { rest.count }

    /// The messages that are complete with these bytes. Throws `.malformed`.
    mutating func append(_ bytes: [UInt8]) throws(StorageError) -> [Message] {
        rest += bytes
        var messages: [Message] = []
        var used = 0
        let failure: StorageError? = rest.withUnsafeBytes { all in
            while true {
                var position = used
                guard let length = Varint.read(all, at: &position) else {
                    // A length has ten bytes at most.
                    return all.count - used >= 10 ? StorageError(.malformed, "a record's length is no number") : nil
                }
                guard length <= UInt64(Self.messageBytesMax), let count = Int(exactly: length) else {
                    return StorageError(.malformed, "a record of \(length) bytes is over \(Self.messageBytesMax)")
                }
                guard all.count - position >= count else { return nil }
                do throws(ChatError) {
                    messages.append(
                        try WireProtobuf.decode(
                            Message.self, from: UnsafeRawBufferPointer(rebasing: all[position..<position + count]),
                            limits: true))
                } catch {
                    return StorageError(.malformed, "a record can't be read: \(error.message)")
                }
                used = position + count
            }
        }
        if let failure { throw failure }
        rest.removeFirst(used)
        return messages
    }
}
