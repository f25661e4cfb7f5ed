@testable import Consensus

/// What must hold in every run, however unlucky. Each checker looks at all servers at once, as nobody in the cluster can.
struct SimulationCheckers {
    enum Name: String, Hashable, CaseIterable {
        /// At most one leader per term (figure 3.2, Election Safety).
        case electionSafety
        /// Two logs with the same index and term agree up to there (Log Matching).
        case logMatching
        /// A new leader has every committed entry (Leader Completeness).
        case leaderCompleteness
        /// No two servers apply different entries at one index (State Machine Safety).
        case stateMachineSafety
        /// A server gets every entry once, in order.
        case applyOrder
        /// The commit index does not go back during a life.
        case commitMonotonic
        /// Acks and votes leave only when what they promise is on disk.
        case durablePromises
        /// A read sees all that was committed when it was asked for.
        case linearizableReads
        /// A proposal reported as committed is in every final state.
        case acknowledged
        /// When the faults end, the servers agree and go on.
        case liveness
    }

    struct Violation: Hashable, CustomStringConvertible {
        let name: Name
        let text: String
        var description: String { "\(name.rawValue): \(text)" }
    }

    private struct Position: Hashable {
        let index: UInt64
        let term: UInt64
    }

    private struct Content: Hashable {
        let payload: [UInt8]
        let kind: Entry.Kind
        let previousTerm: UInt64
    }

    private(set) var violations: [Violation] = []
    private var leaders: [UInt64: ServerID] = [:]
    private var contents: [Position: Content] = [:]
    /// Every committed entry; position 0 is index 1.
    private(set) var committed: [Entry] = []
    private(set) var maxCommitIndex: UInt64 = 0

    mutating func fail(_ name: Name, _ text: String) { violations.append(Violation(name: name, text: text)) }

    mutating func leads(_ core: RaftGroup) {
        if let other = leaders.updateValue(core.id, forKey: core.term), other != core.id {
            fail(.electionSafety, "\(other) and \(core.id) lead term \(core.term)")
        }
        for entry in committed where entry.index > core.log.offset && core.log.term(at: entry.index) != entry.term {
            fail(.leaderCompleteness, "\(core.id) leads term \(core.term) without \(entry.index)")
            return
        }
    }

    mutating func saves(_ save: RaftOutput.Save, core: RaftGroup) {
        guard let first = save.entries.first else { return }
        var previousTerm = core.log.term(at: first.index - 1) ?? 0
        for entry in save.entries {
            let content = Content(payload: entry.payload, kind: entry.kind, previousTerm: previousTerm)
            let position = Position(index: entry.index, term: entry.term)
            if let other = contents.updateValue(content, forKey: position), other != content {
                fail(.logMatching, "index \(entry.index) of term \(entry.term) differs at \(core.id)")
            }
            previousTerm = entry.term
        }
    }

    mutating func commits(_ entry: Entry, at server: ServerID, expectedIndex: UInt64) {
        if entry.index != expectedIndex {
            fail(.applyOrder, "\(server) got \(entry.index) instead of \(expectedIndex)")
        }
        let position = Int(entry.index) - 1
        if position == committed.count {
            committed.append(entry)
        } else if position > committed.count || position < 0 || committed[position] != entry {
            fail(.stateMachineSafety, "\(server) applies another entry at \(entry.index)")
        }
    }

    mutating func sees(commitIndex: UInt64, before: UInt64, at server: ServerID) {
        if commitIndex < before { fail(.commitMonotonic, "\(server) went from \(before) to \(commitIndex)") }
        maxCommitIndex = max(maxCommitIndex, commitIndex)
    }

    mutating func sends(_ message: RaftMessage, disk: TestDisk) {
        switch message.body {
        case .appendAccepted(let index):
            if !disk.reaches(index) || disk.hardState.term < message.term {
                fail(.durablePromises, "\(message.from) acks \(index), has \(disk.lastIndex) on disk")
            }
        case .voteReply(granted: true):
            if disk.hardState.term == message.term, disk.hardState.votedFor != message.to {
                fail(.durablePromises, "\(message.from)'s vote for \(message.to) is not on disk")
            }
            if disk.hardState.term < message.term {
                fail(.durablePromises, "\(message.from)'s vote of term \(message.term) is not on disk")
            }
        case .vote(let lastIndex, _, _):
            if !disk.reaches(lastIndex) || disk.hardState.term < message.term {
                fail(.durablePromises, "\(message.from) campaigns with what is not on disk")
            }
        default: break
        }
    }

    mutating func reads(index: UInt64, committedWhenAsked: UInt64, at server: ServerID) {
        if index < committedWhenAsked {
            fail(.linearizableReads, "\(server) reads at \(index), \(committedWhenAsked) was committed")
        }
    }
}
