import ChatModel

/// Answers of history: to a bot that resumes, to one that was named a gap, and to the reading of everything at the end.
extension RoomLedger {
    /// Notes a page (ASC, afterSeq) read because of `missedMore`.
    ///
    /// - Returns: what is left to be read; nil when done.
    package mutating func catchUp(_ viewer: Viewer, page: [KeptSighting]) -> ClosedRange<UInt64>? {
        guard let rest = viewers[viewer.index].catchUp else { return nil }
        let left = check(page: page, rest, "was missed", viewer)
        guard let left, left.lowerBound > rest.lowerBound else {
            if left == nil {
                viewers[viewer.index].catchUp(to: rest.upperBound)
            } else {
                viewers[viewer.index].abandonCatchUp()
            }
            return nil
        }
        viewers[viewer.index].catchUp(to: left.lowerBound - 1)
        return left
    }

    /// Notes a page (ASC, afterSeq) read because of a SLOW gap.
    ///
    /// - Returns: what is left to be read; nil when done.
    package mutating func fetch(
        _ viewer: Viewer, _ range: ClosedRange<UInt64>, page: [KeptSighting]
    ) -> ClosedRange<UInt64>? {
        let left = check(page: page, range, "was named by a gap", viewer)
        let done = left.map { $0.lowerBound - range.lowerBound } ?? UInt64(range.count)
        foundAfterGap += done
        guard let left, left.lowerBound > range.lowerBound else { return nil }
        return left
    }

    /// Checks that a page begins with `range` and has no hole. Seqs above `range` are passed over.
    private mutating func check(
        page: [KeptSighting], _ range: ClosedRange<UInt64>, _ cause: String, _ viewer: Viewer
    ) -> ClosedRange<UInt64>? {
        var next = range.lowerBound
        for sighting in page {
            guard settle(sighting), next <= range.upperBound else { break }
            if sighting.seq != next {
                let missing = sighting.seq > next ? next...min(sighting.seq - 1, range.upperBound) : next...next
                note(
                    .notInHistory,
                    "\(name(viewer)): \(Self.text(missing)) \(cause) and is not in history where it must be")
            }
            next = max(next, sighting.seq + 1)
        }
        if page.isEmpty {
            note(.notInHistory, "\(name(viewer)): \(Self.text(range)) \(cause) and is not in history")
        }
        return next <= range.upperBound ? next...range.upperBound : nil
    }

    /// The messages that the reading of the whole history has to find: everything since the first bot entered, up to
    /// the room's seq.
    package mutating func beginAudit(end: UInt64) -> ClosedRange<UInt64>? {
        historyEnd = end
        let first = (base ?? 0) + 1
        guard end <= SeqSet.seqMax, first <= end else { return nil }
        return first...end
    }

    /// Notes a page of that reading, which was asked for `range`.
    package mutating func audit(_ range: ClosedRange<UInt64>, page: [KeptSighting]) {
        var next = range.lowerBound
        for sighting in page {
            guard sighting.seq == next, next <= range.upperBound else {
                if sighting.seq > range.upperBound, next > range.upperBound { return }
                note(
                    .notInHistory, "history of \(room): seq \(sighting.seq) stands where seq \(next) should be")
                return
            }
            settle(sighting)
            if contents[next]?.isInHistory == false {
                contents[next]?.isInHistory = true
                inHistoryCount += 1
            }
            next += 1
        }
        if next <= range.upperBound {
            note(.notInHistory, "history of \(room) lacks \(Self.text(next...range.upperBound))")
        }
    }

    /// Notes that the reading of everything did not come to its end.
    package mutating func noteHistoryUnread() {
        // Without its end the books say so when they are closed.
        guard historyEnd != nil else { return }
        note(.notInHistory, "the history of \(room) could not be read to its end in time")
    }
}
