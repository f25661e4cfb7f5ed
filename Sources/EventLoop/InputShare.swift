/// How much of a turn goes to input, and who waits for another turn.
///
/// A poll may find ten thousand sockets at once, and libuv serves all of them in one turn. A connection that comes
/// after the share is over stops asking until a later turn: those that have waited longest come first, and no more of
/// them at a time than a share is likely to serve, so that nobody stops and begins again for nothing. Then each is
/// served once in any case.
struct InputShare {
    /// For how long a turn takes input.
    static let nanoseconds = EventLoop.shareNanoseconds
    /// The same, as long as jobs are left over from one turn to the next: what is under way goes before what is new.
    static let shortNanoseconds = nanoseconds / 4
    /// So many are taken as long as the thread itself has not run for the time of the share: one that had to wait for a CPU
    /// has done nothing meanwhile, and each who is put off costs three system calls and waits for another turn.
    static let takenMin = 16
    /// But not beyond that time: a thread also waits for pages of memory and for locks.
    static let lateNanosecondsMax = 8 * nanoseconds
    /// As many may go on in any case.
    private static let resumedMin = 64

    /// When the turn took its first input, by the clock and by the thread's own; nil before.
    private var began: (now: UInt64, used: UInt64)?
    private var isOver = false
    private var isShort = false
    private var takenInTurn = 0
    /// How many the last share that was used up had served.
    private var servedByShare = 0
    private var waiting: [() -> Void] = []
    private var first = 0

    /// Whether somebody waits for a turn.
    var isAwaited: Bool { first < waiting.count }

    /// Whether this turn still takes input.
    /// - Parameter used: for how long the thread has had a CPU, which costs a system call.
    mutating func take(atNanoseconds now: UInt64, used: () -> UInt64) -> Bool {
        guard let began else {
            self.began = (now, used())
            takenInTurn = 1
            return true
        }
        guard !isOver else { return false }
        let (share, elapsed) = (isShort ? Self.shortNanoseconds : Self.nanoseconds, now - began.now)
        let mayBeLate = takenInTurn < Self.takenMin && elapsed < Self.lateNanosecondsMax
        // A clock of the thread that fails says 0.
        guard elapsed < share || mayBeLate && used() &- began.used < share else {
            isOver = true
            return false
        }
        takenInTurn += 1
        return true
    }

    /// `resume` begins to ask again in a later turn.
    mutating func wait(_ resume: @escaping () -> Void) { waiting.append(resume) }

    /// Ends the turn. Returns those who may ask in the next.
    /// - Parameter areJobsLeft: for which there was no time in this turn.
    mutating func endTurn(areJobsLeft: Bool) -> [() -> Void] {
        if isOver { servedByShare = takenInTurn }
        began = nil
        isOver = false
        isShort = areJobsLeft
        takenInTurn = 0
        guard isAwaited else { return [] }
        let end = min(waiting.count, first + max(Self.resumedMin, servedByShare))
        let due = Array(waiting[first..<end])
        first = end
        if first == waiting.count || first > waiting.count / 2 {
            waiting.removeFirst(first)
            first = 0
        }
        return due
    }
}
