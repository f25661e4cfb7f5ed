import Synchronization

/// How many groups of a node receive state or history at the same time: a node that begins with an empty disk needs all
/// of them, and every transfer keeps a state open at its sender, and the disks of both busy. A group that finds no slot
/// tries again at its next tick.
package final class TransferSlots: Sendable {
    /// Enough to keep a link busy.
    package static let countDefault = 4

    private let free: Mutex<Int>

    package init(_ count: Int = TransferSlots.countDefault) { free = Mutex(count) }

    /// False when all are taken.
    func take() -> Bool {
        free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    func give() { free.withLock { $0 += 1 } }
}
