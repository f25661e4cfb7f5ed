import ChatModel

/// The key under which the result of a command is remembered: SipHash-2-4 with 128 bits of output
/// (Aumasson and Bernstein, with the 128-bit variant of the reference code) over scope, a zero byte and text, with a
/// fixed key. It is on disk, so it never changes.
///
/// The key is public: a user who looked for collisions could only make own commands look like own repeats, since the
/// scope, the user, is hashed in front and cannot hold a zero byte.
public func commandKey(_ id: CommandID) -> CommandKey {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(id.scope.utf8.count + id.text.utf8.count + 1)
    bytes.append(contentsOf: id.scope.utf8)
    bytes.append(0)
    bytes.append(contentsOf: id.text.utf8)
    let (low, high) = SipHash128.hash(bytes, key: (0x6368_6174_726f_6f6d, 0x636f_6d6d_616e_6420))
    return CommandKey(high: high, low: low)
}
