import ChatModel
import Wire

/// The received and the missing part of a room's stream: puts replies, pushes and pages of history into the events that
/// the app gets, in order and each once.
///
/// `seq` is as far as the stream is known. Below it, every seq was delivered, or is in one of the two sets of holes, or
/// was told to the app as a gap that nobody will fill.
struct RoomStream: Sendable {
    /// An action that follows an input.
    enum Output: Sendable, Hashable {
        case event(RoomEvent)
        /// Read history from the first of these seqs, now, and bring it as `caughtUp`.
        case catchUp(ClosedRange<UInt64>)
        /// Read them after a random wait, and bring them as `fetched`.
        case fetchLater(ClosedRange<UInt64>)
        /// The same, now: the rest of a read that has begun.
        case fetch(ClosedRange<UInt64>)
    }

    /// The room's life that `seq` counts in; nil until the first entry.
    private(set) var epoch: String?
    private(set) var seq: UInt64 = 0
    /// Seqs that were jumped over and not told yet. A BUDGET gap comes after the messages around it.
    private var unexplained = SeqRanges()
    /// Seqs that are being read from history because the connection was too slow.
    private var slow = SeqRanges()
    /// Reads of `slow` that were asked for and have not ended.
    private var gapReads = 0
    /// How far history must be read before live pushes go on; nil when they flow.
    private var catchUpEnd: UInt64?
    /// Where the page of history that is asked for begins. There is one at a time: a second one would tell nothing new,
    /// and look like the end of what history has.
    private var readingFrom: UInt64?
    private var held: [Push] = []
    /// The last of what was told of held messages.
    private var notices = Fifo<String>()

    private let heldMax: Int
    private let gapReadsMax: Int

    init(heldMax: Int, gapReadsMax: Int) {
        self.heldMax = max(1, heldMax)
        self.gapReadsMax = gapReadsMax
    }

    // MARK: - Entering

    /// The point from which the next `enter` resumes; nil for a first one.
    var resumePoint: (since: UInt64, epoch: String)? { epoch.map { (seq, $0) } }

    /// Takes the reply to `enter`.
    /// - Parameter resumes: whether the request had `since`.
    mutating func enter(_ result: EnterResult, resumes: Bool) -> [Output] {
        let recovered = resumes && result.recovered == true && result.epoch == epoch
        var entry = RoomEntry(
            room: result.room, me: result.me, epoch: result.epoch, seq: result.seq,
            recovery: recovered ? .complete : resumes ? .impossible : .fresh)
        (entry.queue, entry.queueNext, entry.tallies) = (result.queue, result.queueNext, result.tallies)
        guard recovered else {
            // The newest messages, if the app asked for some: live ones follow them.
            let newest = (result.missed ?? []).filter { $0.seq.map { 1...max(1, result.seq) ~= $0 } ?? false }
            begin(epoch: result.epoch, seq: newest.first?.seq.map { $0 - 1 } ?? result.seq)
            return [.event(.entered(entry))] + newest.flatMap { kept($0) } + giveUp(upTo: result.seq)
        }
        var outputs = [Output.event(.entered(entry))]
        for message in result.missed ?? [] { outputs += kept(message) }
        guard seq < result.seq else { return outputs }
        if result.missedMore == true {
            catchUpEnd = max(catchUpEnd ?? 0, result.seq)
            if readingFrom == nil { outputs.append(readOn(to: result.seq)) }
        } else if catchUpEnd == nil {
            outputs += giveUp(upTo: result.seq)
        }
        return outputs
    }

    private mutating func begin(epoch: String, seq: UInt64) {
        self.epoch = epoch
        self.seq = seq
        unexplained.removeAll()
        slow.removeAll()
        gapReads = 0
        catchUpEnd = nil
        readingFrom = nil
        held = []
    }

    /// The connection is lost. Messages that waited behind history come again with the next entry, as far as it is
    /// kept.
    mutating func interrupt() -> [Output] {
        var skipped = Skipped()
        for push in held { skipped.count(push) }
        held = []
        catchUpEnd = nil
        readingFrom = nil
        gapReads = 0
        var outputs: [Output] = skipped == Skipped() ? [] : [.event(.skipped(skipped))]
        // A SLOW gap is told before the messages behind it (PROTOCOL.md, "Losses"), so these are BUDGET's.
        let ranges = unexplained.ranges
        unexplained.removeAll()
        if !ranges.isEmpty { outputs.append(.event(.gap(Gap(ranges: ranges, cause: .budget)))) }
        return outputs
    }

    /// The SLOW gaps that are still to be read after an interruption.
    mutating func readsAfterEntry() -> [Output] {
        let ranges = slow.ranges
        gapReads = ranges.count
        return ranges.map { .fetchLater($0) }
    }

    // MARK: - Live

    /// Takes a push of this room: a message, barrage, a gap, skipped or online.
    mutating func push(_ push: Push) -> [Output] {
        guard catchUpEnd != nil else { return live(push) }
        switch push {
        case .online, .tallies, .held, .denied: return live(push)
        default: break
        }
        held.append(push)
        return held.count > heldMax ? shorten() : []
    }

    private mutating func live(_ push: Push) -> [Output] {
        switch push {
        case .message(let message):
            if case .kept = message.place { return kept(message) }
            return [.event(RoomEvent(message))]
        case .barrage(let push): return [.event(.barrage(push.items))]
        case .gap(let push): return gap(push)
        case .skipped(let push):
            return [.event(.skipped(Skipped(barrage: push.barrage, unkept: push.unkept)))]
        case .online(let push): return [.event(.online(push.online))]
        case .tallies(let push):
            return [.event(.tallies(Dictionary(push.totals.map { ($0.key, $0.count) }) { _, last in last }))]
        case .held(let push):
            return noteIfNew("held \(push.message.messageID)") ? [.event(.held(push.message))] : []
        case .denied(let push):
            let denial = Denial(heldID: push.heldID, clientID: push.clientID, reason: push.reason)
            return noteIfNew("denied \(push.heldID)") ? [.event(.denied(denial))] : []
        case .broadcast, .direct, .kicked, .state, .token, .reconnect, .devices: return []
        }
    }

    /// Held messages and denials are told again by a leader that does not know whether the former one has told them.
    private mutating func noteIfNew(_ notice: String) -> Bool {
        guard !notices.contains(notice) else { return false }
        notices.append(notice)
        if notices.count > Self.noticesMax { notices.removeFirst() }
        return true
    }

    private static let noticesMax = 256

    /// A message with a seq, from a push or from `missed`.
    private mutating func kept(_ message: Message) -> [Output] {
        guard let number = message.seq else { return [] }
        guard number > seq else {
            guard take(number) else { return [] }
            return Self.filled([message])
        }
        var outputs: [Output] = []
        if number > seq + 1 { outputs = jump(over: (seq + 1)...(number - 1)) }
        seq = number
        outputs.append(.event(RoomEvent(message)))
        return outputs
    }

    /// The missing messages have come; those that this version does not know are told one by one.
    private static func filled(_ messages: [Message]) -> [Output] {
        let known = messages.filter { $0.laterVersion == nil }
        let unknown = messages.filter { $0.laterVersion != nil }
        return (known.isEmpty ? [] : [.event(.filled(known))]) + unknown.map { .event(RoomEvent($0)) }
    }

    /// Whether that seq was missing; it is not any more.
    private mutating func take(_ number: UInt64) -> Bool {
        !unexplained.remove(number...number).isEmpty || !slow.remove(number...number).isEmpty
    }

    private mutating func jump(over range: ClosedRange<UInt64>) -> [Output] {
        unexplained.insert(range)
        guard unexplained.count > Self.unexplainedMax, let first = unexplained.removeFirst() else { return [] }
        return [.event(.gap(Gap(ranges: [first], cause: .budget)))]
    }

    private mutating func gap(_ push: GapPush) -> [Output] {
        var missing = SeqRanges()
        for range in Self.bounded(push.ranges) where range.from <= range.to && range.to > 0 {
            for known in unexplained.remove(range.from...range.to) { missing.insert(known) }
            guard range.to > seq else { continue }
            let first = max(range.from, seq + 1)
            if first > seq + 1 { unexplained.insert((seq + 1)...(first - 1)) }
            missing.insert(first...range.to)
            seq = range.to
        }
        guard !missing.isEmpty else { return [] }
        let isSlow = push.cause == .slow
        var outputs = [Output.event(.gap(Gap(ranges: missing.ranges, cause: isSlow ? .slow : .budget)))]
        guard isSlow else { return outputs }
        let readsLeft = max(0, gapReadsMax - gapReads)
        let (reads, rest) = (missing.ranges.prefix(readsLeft), missing.ranges.dropFirst(readsLeft))
        gapReads += reads.count
        for range in reads {
            slow.insert(range)
            outputs.append(.fetchLater(range))
        }
        if !rest.isEmpty { outputs.append(.event(.gap(Gap(ranges: Array(rest), cause: .unavailable)))) }
        return outputs
    }

    /// No more ranges than are worth telling apart: the rest as one, which may then contain what was received.
    private static func bounded(_ ranges: [SeqRange]) -> [SeqRange] {
        guard ranges.count > gapRangesMax else { return ranges }
        let rest = ranges[(gapRangesMax - 1)...]
        let (low, high) = (rest.map(\.from).min() ?? 0, rest.map(\.to).max() ?? 0)
        return ranges.prefix(gapRangesMax - 1) + [SeqRange(from: low, to: high)]
    }

    /// More pushes wait than may: what history has too is left to it, the rest is counted.
    private mutating func shorten() -> [Output] {
        var skipped = Skipped()
        var end = catchUpEnd ?? seq
        for push in held {
            if case .message(let message) = push, let number = message.seq { end = max(end, number) }
            if case .gap(let gap) = push { for range in gap.ranges { end = max(end, range.to) } }
            skipped.count(push)
        }
        held = []
        catchUpEnd = end
        return skipped == Skipped() ? [] : [.event(.skipped(skipped))]
    }

    // MARK: - History

    private mutating func readOn(to end: UInt64) -> Output {
        readingFrom = seq + 1
        return .catchUp((seq + 1)...end)
    }

    /// Takes a page that follows `seq`, while live pushes wait.
    /// - Parameter from: where the range began that was asked for.
    mutating func caughtUp(from: UInt64, _ page: MessagesResult) -> [Output] {
        guard let end = catchUpEnd, readingFrom == from else { return [] }
        readingFrom = nil
        let last = page.messages.compactMap(\.seq).max() ?? 0
        var outputs: [Output] = []
        for message in page.messages {
            guard let number = message.seq, number <= end else { continue }
            outputs += kept(message)
        }
        if seq < end, page.more == true, last >= from {
            return outputs + [readOn(to: end)]
        }
        return outputs + resumeLive(end)
    }

    /// The missed messages cannot be read: live pushes go on behind a told gap.
    mutating func catchUpFailed(from: UInt64) -> [Output] {
        guard let end = catchUpEnd, readingFrom == from else { return [] }
        readingFrom = nil
        return resumeLive(end)
    }

    private mutating func resumeLive(_ end: UInt64) -> [Output] {
        var outputs = giveUp(upTo: end)
        catchUpEnd = nil
        let waiting = held
        held = []
        for push in waiting { outputs += live(push) }
        return outputs
    }

    /// Tells what is not there up to `end`, and is not going to come.
    private mutating func giveUp(upTo end: UInt64) -> [Output] {
        var missing = SeqRanges()
        for range in unexplained.remove(0...end) { missing.insert(range) }
        if seq < end { missing.insert((seq + 1)...end) }
        seq = max(seq, end)
        return missing.isEmpty ? [] : [.event(.gap(Gap(ranges: missing.ranges, cause: .unavailable)))]
    }

    /// Takes a page of a SLOW gap that begins with the first of `range`.
    mutating func fetched(_ range: ClosedRange<UInt64>, _ page: MessagesResult) -> [Output] {
        let messages = page.messages.filter { message in
            guard let number = message.seq, range.contains(number) else { return false }
            return !slow.remove(number...number).isEmpty
        }
        var outputs = Self.filled(messages)
        let last = page.messages.compactMap(\.seq).max() ?? 0
        if last >= range.lowerBound, last < range.upperBound, page.more == true {
            outputs += unavailable(range.lowerBound...last)
            return outputs + [.fetch((last + 1)...range.upperBound)]
        }
        gapReads = max(0, gapReads - 1)
        return outputs + unavailable(range)
    }

    /// A SLOW gap cannot be read.
    mutating func fetchFailed(_ range: ClosedRange<UInt64>) -> [Output] {
        gapReads = max(0, gapReads - 1)
        return unavailable(range)
    }

    private mutating func unavailable(_ range: ClosedRange<UInt64>) -> [Output] {
        let ranges = slow.remove(range)
        return ranges.isEmpty ? [] : [.event(.gap(Gap(ranges: ranges, cause: .unavailable)))]
    }

    /// Jumps that wait for their explanation. At the bound the oldest is told as BUDGET.
    private static let unexplainedMax = 256
    private static let gapRangesMax = 1_000
}

extension Skipped {
    /// Counts what of a push is lost with it; kept messages come from history.
    fileprivate mutating func count(_ push: Push) {
        switch push {
        case .message(let message): if message.seq == nil { unkept += 1 }
        case .barrage(let push): barrage += Int64(push.items.count)
        case .skipped(let push):
            unkept = unkept.addingReportingOverflow(push.unkept).partialValue
            barrage = barrage.addingReportingOverflow(push.barrage).partialValue
        case .gap, .online, .tallies, .held, .denied, .broadcast, .direct, .kicked, .state, .token, .reconnect,
            .devices:
            break
        }
    }
}
