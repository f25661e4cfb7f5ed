import ChatModel

/// Bytes that are being written: memory of the writer's own, without the checks that an array makes for each byte.
///
/// It belongs to the writer that ``ByteWriter/append(to:_:)`` makes, and is freed there. It is not copied.
struct WriteBuffer {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0
    /// Whether the first memory, which belongs to the caller, has become too small.
    private var hasGrown = false

    /// Most messages fit into this, and the stack has it at no cost: it is the most that Swift puts there.
    fileprivate static let capacityAtFirst = 1024

    /// - Parameter memory: outlives the buffer.
    fileprivate init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        guard let start = memory.baseAddress else { preconditionFailure("a buffer begins with memory") }
        (self.start, capacity) = (start, memory.count)
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    fileprivate func free() { if hasGrown { start.deallocate() } }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        start[count] = byte
        count += 1
    }

    @inline(__always)
    mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        if capacity - count < bytes.count { grow(by: bytes.count) }
        UnsafeMutableRawPointer(start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    mutating func append(contentsOf bytes: UnsafeBufferPointer<UInt8>) {
        append(contentsOf: UnsafeRawBufferPointer(bytes))
    }

    mutating func append(contentsOf bytes: [UInt8]) { bytes.withUnsafeBytes { append(contentsOf: $0) } }

    /// Memory for more bytes, which the caller writes: all of them, or what it gives to `shrink`.
    @inline(__always)
    mutating func extend(by more: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity - count < more { grow(by: more) }
        defer { count += more }
        return start + count
    }

    /// Copies bytes that are likely to be few: names and short values, for which a call costs more than the copy.
    @inline(__always)
    static func copyShort(_ from: UnsafePointer<UInt8>, to: UnsafeMutablePointer<UInt8>, _ count: Int) {
        let (source, place) = (UnsafeRawPointer(from), UnsafeMutableRawPointer(to))
        switch count {
        case 4...7: copyEnds(UInt32.self, source, place, count)
        case 8...16: copyEnds(UInt64.self, source, place, count)
        case ...3: for index in 0..<count { to[index] = from[index] }
        default: place.copyMemory(from: source, byteCount: count)
        }
    }

    /// Copies the first bytes and the last bytes, each as one integer; the two may overlap.
    @inline(__always)
    private static func copyEnds<Word: FixedWidthInteger & BitwiseCopyable>(
        _ word: Word.Type, _ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int
    ) {
        let last = count - MemoryLayout<Word>.size
        let end = from.loadUnaligned(fromByteOffset: last, as: word)
        to.storeBytes(of: from.loadUnaligned(as: word), as: word)
        to.storeBytes(of: end, toByteOffset: last, as: word)
    }

    /// Takes back the last bytes.
    @inline(__always)
    mutating func shrink(by less: Int) { count -= less }

    /// Moves the bytes from `place` on, so that there are `more` before them.
    mutating func makeRoom(_ more: Int, at place: Int) {
        if capacity - count < more { grow(by: more) }
        (start + place + more).update(from: start + place, count: count - place)
        count += more
    }

    subscript(place: Int) -> UInt8 {
        get { start[place] }
        set { start[place] = newValue }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        let larger = max(2 * capacity, count + more)
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        moved.update(from: start, count: count)
        free()
        (start, capacity, hasGrown) = (moved, larger, true)
    }
}

/// A walker that writes bytes.
protocol ByteWriter {
    init(_ buffer: WriteBuffer)
    var buffer: WriteBuffer { get }
}

extension ByteWriter {
    /// The bytes that `write` writes; none when it fails.
    static func written(_ write: (inout Self) throws(ChatError) -> Void) throws(ChatError) -> [UInt8] {
        var bytes: [UInt8] = []
        try append(to: &bytes, write)
        return bytes
    }

    /// Appends the bytes that `write` writes.
    static func append(
        to bytes: inout [UInt8], _ write: (inout Self) throws(ChatError) -> Void
    ) throws(ChatError) {
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: WriteBuffer.capacityAtFirst) {
            memory throws(ChatError) in
            var writer = Self(WriteBuffer(memory))
            defer { writer.buffer.free() }
            try write(&writer)
            bytes.append(contentsOf: writer.buffer.bytes)
        }
    }
}
