/// The viewer budget that holds in a room (PROTOCOL.md, "Viewer budget").
package struct BudgetRule: Sendable, Hashable {
    /// Up to so many people every reliable message goes to everybody.
    package var unlimitedUpTo: Int
    /// How many people the room can have: the bots of the run.
    package var people: Int

    package init(unlimitedUpTo: Int = 1_000, people: Int) {
        self.unlimitedUpTo = unlimitedUpTo
        self.people = people
    }
}

/// Whether what BUDGET gaps name may be left out.
extension RoomLedger {
    /// Notes what a BUDGET gap has named and had not come.
    mutating func noteBudget(_ viewer: Viewer, _ missing: [ClosedRange<UInt64>]) {
        guard let budget else { return }
        if budget.people <= budget.unlimitedUpTo, let first = missing.first {
            note(
                .wrongBudget,
                "\(name(viewer)): \(Self.text(first)) left out by the budget in a room of at most \(budget.people)")
        }
        for range in missing where range.count <= SeqSet.rangesMax {
            for seq in range {
                budgetNamed[seq, default: 0] += 1
                if contents[seq]?.claim?.bot == viewers[viewer.index].bot {
                    note(.wrongBudget, "\(name(viewer)): its own seq \(seq) was left out by the budget")
                }
            }
        }
    }

    /// A viewer's own messages are never left out, and what is left out is the same for all others.
    mutating func closeBudget() {
        for (seq, count) in budgetNamed.sorted(by: { $0.key < $1.key }) {
            guard let content = contents[seq] else { continue }
            let received = content.receivedCount
            let isOwn = content.claim.map { viewerIndex[$0.bot] != nil } ?? false
            // Its sender has it; whoever came, went or was slow at that moment is in neither number.
            if received > (isOwn ? 1 : 0) {
                note(
                    .wrongBudget,
                    "seq \(seq) of \(room) was left out for \(count) viewers and shown to \(received)")
            }
        }
    }
}
