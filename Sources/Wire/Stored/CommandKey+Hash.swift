import ChatModel

/// The key under which the result of a command is remembered: SipHash-2-4 with 128 bits of output
/// (Aumasson and Bernstein, with the 128-bit variant of the reference code) over scope, a zero byte and text, with a
/// fixed key. It is on disk, so it never changes.
///
/// The key is public: a user who looked for collisions could only make own commands look like own repeats, since the
/// scope, the user, is hashed in front and cannot hold a zero byte.
public func commandKey(_ id: CommandID) -> CommandKey {
    var (scope, text) = (id.scope, id.text)
    let (low, high) = scope.withUTF8 { scope in
        text.withUTF8 { text in
            let count = scope.count + 1 + text.count
            return withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { bytes in
                bytes.copyMemory(from: UnsafeRawBufferPointer(scope))
                bytes[scope.count] = 0
                UnsafeMutableRawBufferPointer(rebasing: bytes[(scope.count + 1)...])
                    .copyMemory(from: UnsafeRawBufferPointer(text))
                return SipHash128.hash(
                    UnsafeRawBufferPointer(bytes), key: (0x6368_6174_726f_6f6d, 0x636f_6d6d_616e_6420))
            }
        }
    }
    return CommandKey(high: high, low: low)
}
