/// The connections that have to give way when memory is short: those that hold most.
enum Greediest {
    /// Closing somebody who holds less would free next to nothing.
    static let bytesMin = 4 * 1024

    /// Picks holders, the greediest first, until they hold `freeing` bytes together; all when they hold less.
    ///
    /// One pass, without sorting: holders are told apart by the power of two of what they hold. So nobody is picked while
    /// somebody stays who holds twice as much.
    static func pick(
        _ holders: some Sequence<(number: UInt64, bytes: Int)>, freeing: Int
    ) -> [UInt64] {
        var classes: [[(number: UInt64, bytes: Int)]] = Array(repeating: [], count: Int.bitWidth)
        for holder in holders where holder.bytes >= bytesMin {
            classes[Int.bitWidth - 1 - holder.bytes.leadingZeroBitCount].append(holder)
        }
        var picked: [UInt64] = []
        var freed = 0
        for holder in classes.reversed().joined() {
            guard freed < freeing else { break }
            picked.append(holder.number)
            freed += holder.bytes
        }
        return picked
    }
}
