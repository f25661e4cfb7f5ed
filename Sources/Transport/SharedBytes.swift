/// Bytes that are made once and never change, so that any number of receivers on any number of loops share them.
///
/// Invariant behind `@unchecked Sendable`: the memory is written only while the object is made.
public final class SharedBytes: @unchecked Sendable {
    let base: UnsafeMutableRawPointer

    /// The number of bytes.
    public let count: Int

    /// Makes `count` bytes that `initialize` writes, all of them.
    public init(count: Int, initializingWith initialize: (UnsafeMutableRawBufferPointer) -> Void) {
        precondition(count >= 0, "a count of bytes is not negative")
        // At least one byte, so that the pointer is always one that C accepts.
        base = .allocate(byteCount: max(count, 1), alignment: 16)
        self.count = count
        initialize(UnsafeMutableRawBufferPointer(start: base, count: count))
    }

    /// Copies `bytes`.
    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Copies `bytes`.
    public convenience init(copying bytes: [UInt8]) {
        self.init(count: bytes.count) { memory in bytes.withUnsafeBytes { memory.copyMemory(from: $0) } }
    }

    /// Copies `bytes`.
    public convenience init(copying bytes: some Collection<UInt8>) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    deinit {
        base.deallocate()
    }

    /// Calls `body` with the bytes, which are valid during the call only.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }
}
