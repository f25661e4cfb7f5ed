import BotSwarmCore

/// The verdict of the bots' ledger in the end, and of the rules for stories in which nothing fails.
extension ClusterStory {
    /// The ledger says why it does not balance.
    func judge(_ findings: Findings) {
        var untold = findings.counts
        for finding in findings.told {
            untold[finding.kind] = nil
            if mayHappen(finding.kind) { count("silent losses") } else { complain(Complaint(finding)) }
        }
        // The ledger has words for the first ones only.
        for (kind, number) in untold.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where !mayHappen(kind) {
            complain(Complaint(Finding(kind, "\(number) times")))
        }
    }

    /// Whether no node, no link and no disk fails in this story.
    var isLossless: Bool { plan.faultCount == 0 || Self.losslessFaults.isSuperset(of: plan.faults) }

    /// Calls that got lost are asked again after seconds, and work that was forgotten is found by the next tick. Where
    /// nothing fails nobody waits for that, and nobody is refused.
    func lookForDelays(_ report: RunReport) {
        // Bots of a show lose their connections, and wait before they come back.
        guard plan.conversation == .chat else { return }
        let limit = plan.faultCount == 0 ? Duration.milliseconds(50) : handOverTakes
        for kind in [LatencyKind.ack, .enter] {
            guard let longest = report.longest(kind) else { continue }
            trace("\(kind) took \(longest) at most")
            if longest > limit { complain(.late, "\(kind.title) took \(longest), and may take \(limit)") }
        }
        if !report.errors.isEmpty { complain(.refused, "requests of bots were refused with \(report.errors)") }
    }

    /// The time of a call while leadership goes to a replica that lacks nothing: less than a tick of the log. Where syncs
    /// and ways are slow, some twenty of both come one after another.
    var handOverTakes: Duration { .milliseconds(90 + 40 * Int64(plan.layout.slowMilliseconds ?? 0)) }

    /// The time of a call at a node that can't reach the room's leader: until it knows that, and gives up.
    static let answerTakes = Duration.seconds(6)

    /// Lanes find out within seconds that they or a leader have missed something, and put it right. Where nothing fails
    /// there must be nothing to put right: the repair would hide a message that is never sent.
    func lookForRepairs() async {
        for node in 0..<plan.layout.nodes {
            let figures = await cluster.text(node, "/metrics") ?? ""
            let lines = figures.split(separator: "\n").filter { $0.hasPrefix("chatroom_rooms_announced_anew_total") }
            guard let number = lines.first?.split(separator: " ").last.flatMap({ Double($0) }) else {
                complain(.refused, "n\(node + 1) does not say how much it has repaired")
                continue
            }
            if number > 0 { complain(.repaired, "n\(node + 1) has announced \(Int(number)) rooms anew") }
        }
    }

    /// Droppable items are lost without a word when a link or a leader goes: PROTOCOL tells viewers of neither yet.
    private func mayHappen(_ kind: Finding.Kind) -> Bool {
        plan.faultCount > 0 && (kind == .silentLoss || kind == .ownBarrageLost)
    }
}
