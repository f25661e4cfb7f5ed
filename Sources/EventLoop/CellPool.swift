import Synchronization

/// Small pieces of memory of one size, packed into pages: for what a loop walks through by the thousand, so that the walk
/// touches few cache lines and few pages.
///
/// Pages are kept until the pool ends; there are as many as were in use at one time. The last reference to what has a cell
/// may go on another thread than the loop's, hence the lock.
package final class CellPool: Sendable {
    /// The bytes of a cell, and its alignment.
    package static let cellBytes = 8
    private static let pageBytes = 4096

    private struct Memory: @unchecked Sendable {
        var pages: [UnsafeMutableRawPointer] = []
        var free: [UnsafeMutableRawPointer] = []
    }

    private let memory = Mutex(Memory())

    package init() {}

    deinit {
        memory.withLock { for page in $0.pages { page.deallocate() } }
    }

    /// A cell with undefined content, the caller's until ``giveBack(_:)``.
    package func take() -> UnsafeMutableRawPointer {
        let cell = memory.withLock { memory in
            if memory.free.isEmpty {
                let page = UnsafeMutableRawPointer.allocate(byteCount: Self.pageBytes, alignment: Self.pageBytes)
                memory.pages.append(page)
                // Taken from the end: in the order of their addresses.
                for offset in stride(from: Self.pageBytes - Self.cellBytes, through: 0, by: -Self.cellBytes) {
                    memory.free.append(page + offset)
                }
            }
            return UInt(bitPattern: memory.free.removeLast())
        }
        return UnsafeMutableRawPointer(bitPattern: cell).unsafelyUnwrapped
    }

    package func giveBack(_ cell: UnsafeMutableRawPointer) {
        let cell = UInt(bitPattern: cell)
        memory.withLock { memory in
            if let cell = UnsafeMutableRawPointer(bitPattern: cell) { memory.free.append(cell) }
        }
    }
}
