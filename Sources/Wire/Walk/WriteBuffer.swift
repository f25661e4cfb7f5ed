import ChatModel

/// Bytes that are being written: memory of the writer's own, without the checks that an array makes for each byte.
///
/// It belongs to the writer that ``ByteWriter/written(_:)`` makes, and is freed there. It is not copied.
struct WriteBuffer {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0

    /// Most messages fit into this, and the allocator has such pieces ready.
    private static let capacityAtFirst = 1008

    init() {
        capacity = Self.capacityAtFirst
        start = .allocate(capacity: capacity)
    }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    func free() { start.deallocate() }

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
        start.deallocate()
        (start, capacity) = (moved, larger)
    }
}

/// A walker that writes bytes.
protocol ByteWriter {
    init()
    var buffer: WriteBuffer { get }
}

extension ByteWriter {
    /// The bytes that `write` writes; none when it fails.
    static func written(_ write: (inout Self) throws(ChatError) -> Void) throws(ChatError) -> [UInt8] {
        var writer = Self()
        defer { writer.buffer.free() }
        try write(&writer)
        return [UInt8](writer.buffer.bytes)
    }

    /// Appends the bytes that `write` writes.
    static func append(
        to bytes: inout [UInt8], _ write: (inout Self) throws(ChatError) -> Void
    ) throws(ChatError) {
        var writer = Self()
        defer { writer.buffer.free() }
        try write(&writer)
        bytes.append(contentsOf: writer.buffer.bytes)
    }
}
