/// Decides when memory that was freed goes back to the system. A value: it is told what there is, once a look.
///
/// The allocator keeps what is freed, because a turn needs again what the last one had: giving that back and asking for
/// it again took system calls in each turn that stop the other threads. But what a storm has needed once would stay for
/// ever. Both hold when only that goes back which nobody has needed for a while: the surplus is what the process has in
/// memory beyond what is allocated, and when its least over ``looksInARow`` looks in a row is large, it is no turn's.
/// The rest after a trim (code, stacks, pages with something in use on them) is no surplus from then on.
struct FreedMemory {
    /// The surplus of which it is worth to speak; below it nothing is given back.
    static let surplusMin: Int64 = 48 << 20
    /// So often in a row there must be that much.
    static let looksInARow = 3
    /// The memory is looked at once in so many seconds.
    static let lookSeconds: UInt32 = 5
    /// After so many looks in a row that found little, while the process has not grown or shrunk, one of so many is made: a
    /// look goes through what the allocator has free, with its locks in hand.
    static let restingLooks = 12
    /// A process has grown or shrunk by so much at least.
    static let changeMin: Int64 = 16 << 20

    /// The bytes that the last trim could not give back; later, the least that was seen since.
    private var unavoidable: Int64 = 0
    private var looks = 0
    /// Looks in a row that found little, with those that were not made.
    private var fruitless = 0
    /// At the last of them that was made.
    private var resident: Int64 = 0

    /// Whether to look at what is allocated, which is not free of cost: with that little in memory it can't matter.
    mutating func isWorthALook(resident: Int64) -> Bool {
        guard resident >= unavoidable + Self.surplusMin else { return false }
        if abs(resident - self.resident) >= Self.changeMin { fruitless = 0 }
        guard fruitless >= Self.restingLooks, !fruitless.isMultiple(of: Self.restingLooks) else { return true }
        fruitless += 1
        return false
    }

    /// - Returns: whether to give back now; then call ``trimmed(resident:allocated:)``.
    mutating func look(resident: Int64, allocated: Int64) -> Bool {
        let surplus = max(0, resident - allocated)
        unavoidable = min(unavoidable, surplus)
        guard surplus >= unavoidable + Self.surplusMin else {
            looks = 0
            fruitless += 1
            self.resident = resident
            return false
        }
        looks += 1
        fruitless = 0
        guard looks >= Self.looksInARow else { return false }
        looks = 0
        return true
    }

    /// Takes the numbers right after a trim.
    mutating func trimmed(resident: Int64, allocated: Int64) {
        unavoidable = max(0, resident - allocated)
    }
}
