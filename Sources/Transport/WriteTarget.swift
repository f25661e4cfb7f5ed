internal import CShims

/// Where a broadcast writes: the descriptor of a ``TCPConnection`` and, beside it, what forbids to write to it. Neither
/// counted nor checked, and apart from the libuv handle, so that a write to one viewer touches eight bytes of this
/// process, in a page with those of the connections made before and after it.
///
/// Valid for as long as its connection lives, and to be used on the connection's loop only; the owner of the list that
/// it stands in sees to both. A connection that closes or fails takes nothing.
public struct WriteTarget {
    /// The content of a cell.
    struct Content {
        var descriptor: Int32
        var obstacles: Obstacles
    }

    /// Why nothing may be written past the connection.
    struct Obstacles: OptionSet {
        var rawValue: UInt8

        /// It has no descriptor yet, or no more, or has said that nothing more comes.
        static let closed = Obstacles(rawValue: 1)
        /// Something waits at the owner of the connection.
        static let held = Obstacles(rawValue: 2)
        /// Written bytes have to be sealed first.
        static let sealed = Obstacles(rawValue: 4)
        /// A write that the system has not taken in full is under way.
        static let writing = Obstacles(rawValue: 8)
    }

    /// One cell of the loop's ``CellPool``.
    let cell: UnsafeMutablePointer<Content>

    init(cell: UnsafeMutableRawPointer) {
        self.cell = cell.bindMemory(to: Content.self, capacity: 1)
        self.cell.initialize(to: Content(descriptor: -1, obstacles: .closed))
    }

    /// The connection has got its descriptor.
    func open(_ descriptor: Int32) {
        cell.pointee.descriptor = descriptor
        cell.pointee.obstacles.remove(.closed)
    }

    func set(_ obstacle: Obstacles, _ isThere: Bool) {
        if isThere { cell.pointee.obstacles.insert(obstacle) } else { cell.pointee.obstacles.remove(obstacle) }
    }

    /// Written bytes have to be sealed first, and nothing else forbids to write: the connection itself takes them.
    public var isSealed: Bool { cell.pointee.obstacles == .sealed }

    /// Offers the bytes to the system at once.
    ///
    /// - Returns: how many it took; 0 when its buffer is full, something waits already or the connection is held, closed,
    ///   failed or sealed. Then they are to be offered to the connection, which knows what to do.
    public func tryWrite(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard cell.pointee.obstacles.isEmpty else { return 0 }
        return max(0, chatroom_send(cell.pointee.descriptor, bytes.baseAddress, bytes.count))
    }
}
