import ChatModel
import Synchronization
import Wire

/// How a bot goes out of its room and comes back.
extension Bot {
    /// Goes away for a while: by `exit`, or by losing the connection. Only when nothing is under way.
    func leave(byExit: Bool, milliseconds: UInt64) {
        guard isHere, pending.isEmpty, unanswered.isEmpty, !isStalled else { return }
        if byExit {
            request(.exit(RoomNameRequest(room: book.room)), .exit(returnMilliseconds: milliseconds))
        } else {
            absenceMilliseconds = milliseconds
            lane.counters.left += 1
            drop()
        }
    }

    /// It has asked to leave and has no answer: what it asks now comes behind that.
    var isLeaving: Bool { pending.values.contains { if case .exit = $0 { true } else { false } } }

    func exited(_ returnMilliseconds: UInt64) {
        guard isHere else { return }
        lane.counters.left += 1
        goOutside(kicked: false)
        comeBack(afterMilliseconds: returnMilliseconds)
    }

    /// Was put out. Where that belongs to the scenario it comes back, as a person would; else it is a finding.
    func kicked(_ reason: KickReason) {
        guard lane.scenario.moderates, reason == .byManager || reason == .blacklisted else {
            return stop("was kicked with reason \(reason.rawValue)")
        }
        lane.counters.kicked += 1
        goOutside(kicked: true)
        comeBack(afterMilliseconds: UInt64.random(in: Self.returnMilliseconds, using: &lane.random))
    }

    private func goOutside(kicked: Bool) {
        noteAway(.left)
        book.ledger.withLock { $0.leave(viewer, kicked: kicked) }
        move(to: .outside)
    }

    private func comeBack(afterMilliseconds milliseconds: UInt64) {
        after(milliseconds: milliseconds) { [weak self] in
            guard let self, case .outside = phase else { return }
            enter()
        }
    }

    /// May not come in: a ban that ends by itself says when, a blacklisting does not.
    func stayOutside(_ error: ChatError) {
        move(to: .outside)
        let position = book.ledger.withLock { $0.book(of: viewer).position }
        book.ledger.withLock { $0.refusal(viewer, error.code, "enter", from: position) }
        let wait = error.retryAfterMs.map { UInt64(clamping: $0) } ?? Self.returnMilliseconds.lowerBound
        comeBack(afterMilliseconds: min(max(wait, 100), Self.returnMilliseconds.upperBound))
    }

    /// Compares a refusal with what the protocol has for it; why it came is judged at the end.
    func noteRefusal(
        _ error: ChatError, _ what: String, from: UInt64, n: Int? = nil, isOneOf more: Set<ErrorCode> = [],
        version: ReplayNotes.QueueVersion? = nil
    ) {
        guard lane.scenario.needsNewRooms, !Self.isWorthRepeating(error.code) else { return }
        guard Self.refusalsOfSpeakers.contains(error.code) || more.contains(error.code) else {
            return book.ledger.withLock {
                $0.noteWrongAnswer(viewer, "\(what) was answered \(error.code.number) \(error.message)")
            }
        }
        book.ledger.withLock { $0.refusal(viewer, error.code, what, from: from, n: n, version: version) }
    }

    /// A change that is on its way while its sender is banned is refused with 13003 where it is applied.
    private static let refusalsOfSpeakers: Set<ErrorCode> = [.muted, .roomMuted, .notInRoom, .blacklisted]
    private static let returnMilliseconds: ClosedRange<UInt64> = 1_000...4_000
}
