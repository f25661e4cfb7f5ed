import ChatModel

/// The taps of one lane in one room on their way into the room's log: added up in a window, sent as one batch, and sent
/// again, as the same batch, until the room's leader of then says what has become of it.
///
/// One batch is on its way at a time. So a room needs to remember only the last one of each lane's life to know one that
/// comes again, and a leader that is slow gets larger sums and not more of them. Pure: times are passed in.
public struct TapWindows: Sendable {
    /// How long taps are added up. Totals are pushed every 500 ms, so viewers lose little by it; who waits for an answer
    /// waits a blink longer than for the disk; and a room costs its leader five commands a second and lane at most.
    public static let windowMilliseconds: UInt64 = 200
    /// A batch that nobody has answered for so long is sent again: a message may have got lost with its connection.
    public static let askAgainMilliseconds: UInt64 = 4_000
    /// How long somebody waits while the room has no leader, as for any change (`OpenRequests.leaderlessMilliseconds`).
    public static let leaderlessMilliseconds: UInt64 = 3_000
    /// After so long what was not counted is dropped: far less than rooms remember windows (`Limits.tapLifeSeconds`).
    public static let keptMilliseconds: UInt64 = 30_000

    /// A request that is answered when its window is on disk.
    public struct Waiter: Sendable, Hashable {
        public var session: SessionID
        public var request: UInt32
        public var key: String
        var since: UInt64

        init(session: SessionID, request: UInt32, key: String, since: UInt64) {
            (self.session, self.request, self.key, self.since) = (session, request, key, since)
        }
    }

    private struct Sent: Sendable {
        var batch: TapBatch
        var firstAt: UInt64
        var lastAt: UInt64
    }

    private let life: UInt64
    /// The life of the room in which all of them were tapped.
    public let incarnation: Incarnation?
    private var sums: [String: Int64] = [:]
    private var openedAt: UInt64 = 0
    private var openWaiters: [Waiter] = []
    private var sent: Sent?
    private var sentWaiters: [Waiter] = []
    /// Keys that the room has, as far as it has said: names that somebody makes up take no place from them.
    private var known: Set<String> = [Tally.like]
    private var unknownCount = 0

    public init(life: UInt64, of incarnation: Incarnation?) {
        self.life = life
        self.incarnation = incarnation
    }

    /// Nothing is added up and nothing on its way.
    public var isIdle: Bool { sums.isEmpty && sent == nil }
    public var isSending: Bool { sent != nil }
    public var waiterCount: Int { openWaiters.count + sentWaiters.count }

    /// Adds taps to the open window.
    /// - Parameter waiter: the session that wants an answer, and its request.
    /// - Returns: false when the window has no room for another name that the room may not have.
    public mutating func add(
        _ count: Int64, to key: String, waiter: (session: SessionID, request: UInt32)?, at now: UInt64
    ) -> Bool {
        if sums.isEmpty { openedAt = now }
        if let sum = sums[key] {
            // Far beyond what can be tapped in the time that a window is kept.
            sums[key] = min(sum, Limits.tallyTotal) + count
        } else {
            guard sums.count < Limits.tapKeys else { return false }
            if !known.contains(key) {
                guard unknownCount < Limits.tapKeys - Limits.tallies - 1 else { return false }
                unknownCount += 1
            }
            sums[key] = count
        }
        if let waiter {
            openWaiters.append(Waiter(session: waiter.session, request: waiter.request, key: key, since: now))
        }
        return true
    }

    /// Ends the open window, unless the former is on its way.
    /// - Parameter window: greater than any before, over all rooms of the lane.
    /// - Returns: the batch to send; nil where there is none.
    public mutating func close(as window: UInt64, at now: UInt64) -> TapBatch? {
        guard sent == nil, !sums.isEmpty else { return nil }
        let batch = TapBatch(
            life: life, window: window,
            sums: sums.map { TallyCount(key: $0.key, count: $0.value) }.sorted { $0.key < $1.key },
            of: incarnation)
        // It counts from when its first tap came: a leader was missing since.
        sent = Sent(batch: batch, firstAt: openedAt, lastAt: now)
        (sentWaiters, openWaiters) = (openWaiters, [])
        (sums, unknownCount) = ([:], 0)
        return batch
    }

    /// The batch that is on its way, to be sent to another leader, or once more.
    /// - Parameter isOverdue: only if nobody has answered for long.
    public mutating func sendAgain(isOverdue: Bool, at now: UInt64) -> TapBatch? {
        guard let current = sent, now < current.firstAt + Self.keptMilliseconds,
            !isOverdue || now >= current.lastAt + Self.askAgainMilliseconds
        else { return nil }
        sent?.lastAt = now
        return current.batch
    }

    /// The room's leader has answered.
    /// - Parameter result: as `RoomOutput.taps` has it.
    /// - Returns: the answer of each request of the window, and how many taps were counted and not; nil for a window that
    ///   is not on its way.
    public mutating func settle(_ window: UInt64, _ result: Result<[Int64], ChatError>, in room: RoomID) -> Settled? {
        guard let current = sent, current.batch.window == window else { return nil }
        let waiters = sentWaiters
        (sent, sentWaiters) = (nil, [])
        var settled = Settled()
        var totals: [String: Result<Int64, ChatError>] = [:]
        for (index, sum) in current.batch.sums.enumerated() {
            let total: Result<Int64, ChatError>
            switch result {
            case .failure(let error): total = .failure(error)
            case .success(let results):
                // None: it was given up by this room, and a later one was counted.
                let value = index < results.count ? results[index] : -Int64(ErrorCode.unavailable.rawValue)
                if value >= 0 {
                    total = .success(value)
                    know(sum.key)
                } else {
                    let code = ErrorCode(rawValue: Int(clamping: value.magnitude)) ?? .internal
                    if code == .notFound, sum.key != Tally.like { known.remove(sum.key) }
                    total = .failure(.refusedTap(code, sum.key, room))
                }
            }
            if case .success = total { settled.counted += sum.count } else { settled.refused += sum.count }
            totals[sum.key] = total
        }
        settled.answers = waiters.compactMap { waiter in totals[waiter.key].map { (waiter, $0) } }
        return settled
    }

    /// Gives up all: the room is another one now, which counts none of them.
    /// - Returns: as ``expire(hasLeader:at:)``.
    public mutating func giveUp() -> (waiters: [Waiter], dropped: Int64) {
        let dropped = ((sent?.batch.sums.map(\.count) ?? []) + sums.values).reduce(0, +)
        let waiters = sentWaiters + openWaiters
        (sent, sentWaiters, sums, unknownCount, openWaiters) = (nil, [], [:], 0, [])
        return (waiters, dropped)
    }

    public struct Settled: Sendable {
        public var answers: [(waiter: Waiter, total: Result<Int64, ChatError>)] = []
        public var counted: Int64 = 0
        public var refused: Int64 = 0
    }

    private mutating func know(_ key: String) {
        guard !known.contains(key) else { return }
        // Keys come and go: who begins anew learns those that are tapped.
        if known.count > 2 * Limits.tallies { known = [Tally.like] }
        known.insert(key)
    }

    /// Gives up what has waited for too long. Requests that are given up may still be counted, if a leader has their batch
    /// or gets it in time: they are told that nobody knows (503).
    /// - Returns: the requests, and how many taps will never be counted as far as this lane knows.
    public mutating func expire(hasLeader: Bool, at now: UInt64) -> (waiters: [Waiter], dropped: Int64) {
        var dropped: Int64 = 0
        var due: [Waiter] = []
        if !sums.isEmpty, now >= openedAt + Self.keptMilliseconds {
            dropped += sums.values.reduce(0, +)
            due += openWaiters
            (sums, unknownCount, openWaiters) = ([:], 0, [])
        }
        if let current = sent, now >= current.firstAt + Self.keptMilliseconds {
            dropped += current.batch.sums.reduce(0) { $0 + $1.count }
            due += sentWaiters
            (sent, sentWaiters) = (nil, [])
        }
        let end = hasLeader ? Self.keptMilliseconds : Self.leaderlessMilliseconds
        func takeDue(_ waiters: inout [Waiter]) -> [Waiter] {
            // Oldest first, in both.
            let count = waiters.firstIndex { now < $0.since + end } ?? waiters.count
            guard count > 0 else { return [] }
            defer { waiters.removeFirst(count) }
            return Array(waiters[..<count])
        }
        due += takeDue(&sentWaiters) + takeDue(&openWaiters)
        return (due, dropped)
    }
}
