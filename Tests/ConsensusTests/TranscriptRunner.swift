@testable import Consensus

/// Runs a transcript: lines that begin with "> " are commands, lines that begin with "#" are remarks, and all others are
/// what the commands before them brought about. `run` returns the whole text anew, so that a correct one is unchanged.
struct TranscriptRunner {
    struct Failure: Error {
        let text: String
    }

    private var cluster: TestCluster?
    private final class Recorder {
        var lines: [String] = []
    }
    private let recorder = Recorder()

    static func run(_ text: String) throws -> String {
        var runner = TranscriptRunner()
        var result: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("> ") {
                result.append(line)
                try runner.command(line.dropFirst(2).split(separator: " ").map(String.init))
                result.append(contentsOf: runner.recorder.lines.map { "  " + $0 })
                runner.recorder.lines = []
            } else if line.hasPrefix("#") || line.isEmpty {
                result.append(line)
            }
        }
        return result.joined(separator: "\n")
    }

    private mutating func command(_ words: [String]) throws {
        if words.first == "servers" {
            let cluster = try TestCluster(Array(words.dropFirst()))
            let recorder = recorder
            cluster.onOutput = { name, output in recorder.lines.append(contentsOf: Self.describe(name, output)) }
            self.cluster = cluster
            return
        }
        guard let cluster, words.count > 1 || words.first == "deliver" || words.first == "timeout" else {
            throw Failure(text: "cannot understand \(words)")
        }
        let name = words.count > 1 ? words[1] : ""
        let rest = Array(words.dropFirst(2))
        do {
            switch words[0] {
            case "campaign": cluster.campaign(name)
            case "lead":
                // The beginning of most scenarios, told in full in election.txt only.
                cluster.elect(name)
                recorder.lines = []
            case "timeout": cluster.forgetLeader()
            case "deliver": deliver(cluster, words)
            case "drop": drop(cluster, from: name, to: rest.first)
            case "tick": cluster.tick(name, rest.first.flatMap { Int($0) } ?? 1)
            case "propose": _ = try cluster.act(name) { try $0.propose(rest.map { Array($0.utf8) }) }
            case "read": try cluster.act(name) { try $0.readIndex(rest.first.flatMap { UInt64($0) } ?? 0) }
            case "hold-disk": cluster.holdDisk(name)
            case "release-disk": cluster.releaseDisk(name)
            case "fail-disk": cluster.act(name) { $0.persistFailed() }
            case "crash": cluster.crash(name)
            case "restart": try cluster.restart(name)
            case "join": try cluster.add(name, start: .join)
            case "snapshot": cluster.takeSnapshot(name)
            case "install": cluster.install(name)
            case "transfer": try cluster.act(name) { try $0.transferLeadership(to: TestCluster.id(rest.first ?? "")) }
            case "add", "promote", "remove":
                let server = TestCluster.id(rest.first ?? "")
                let change: MembershipChange =
                    words[0] == "add" ? .addLearner(server) : words[0] == "promote" ? .promote(server) : .remove(server)
                _ = try cluster.act(name) { try $0.proposeMembership(change) }
            default: throw Failure(text: "unknown command \(words[0])")
            }
        } catch let error as RaftError {
            recorder.lines.append("\(name) refuses: \(error.code)")
        }
    }

    /// "deliver" until nothing is under way, or "deliver a b" what is under way from a to b now.
    private func deliver(_ cluster: TestCluster, _ words: [String]) {
        if words.count == 1 { return cluster.settle() }
        let (from, to) = (words[1], words.count > 2 ? words[2] : nil)
        cluster.deliver { $0.from.node == from && (to == nil || $0.to.node == to) }
    }

    private func drop(_ cluster: TestCluster, from: String, to: String?) {
        cluster.network.removeAll { $0.from.node == from && (to == nil || $0.to.node == to) }
    }

    // MARK: Text

    private static func describe(_ name: String, _ output: RaftOutput) -> [String] {
        var lines: [String] = []
        if let leadership = output.leadership {
            let leader = leadership.leader.map { ", leader \($0.node)" } ?? ""
            lines.append("\(name) is \(leadership.role), term \(leadership.term)\(leader)")
        }
        if let membership = output.membership { lines.append("\(name) members \(describe(membership))") }
        if let save = output.save { lines.append("\(name) saves \(describe(save))") }
        for message in output.messages {
            lines.append("\(name) -> \(message.to.node) term \(message.term): \(describe(message.body))")
        }
        if !output.committed.isEmpty { lines.append("\(name) commits \(describe(output.committed))") }
        for read in output.readStates { lines.append("\(name) reads \(read.token) at \(read.index)") }
        for token in output.failedReads { lines.append("\(name) cannot answer read \(token)") }
        for fetch in output.fetches { lines.append("\(name) fetches \(fetch.range) for \(fetch.purpose)") }
        if let offer = output.snapshotOffer {
            lines.append("\(name) is offered a snapshot of \(offer.mark.index) by \(offer.from.node)")
        }
        return lines
    }

    private static func describe(_ membership: GroupMembership) -> String {
        (membership.voters.map(\.node) + membership.learners.map { "(\($0.node))" }).joined(separator: " ")
    }

    private static func describe(_ save: RaftOutput.Save) -> String {
        var parts = ["#\(save.number)"]
        if let state = save.hardState { parts.append("term \(state.term) vote \(state.votedFor?.node ?? "-")") }
        if let mark = save.snapshot { parts.append("snapshot \(mark.index)/\(mark.term)") }
        if save.replacesLog { parts.append("without the log") }
        if let index = save.truncateFrom { parts.append("cut at \(index)") }
        if !save.entries.isEmpty { parts.append(describe(save.entries)) }
        return parts.joined(separator: ", ")
    }

    /// "index/term content", separated by commas.
    private static func describe(_ entries: [Entry]) -> String {
        entries.map { entry in
            let content =
                switch entry.kind {
                case .empty: "empty"
                case .command: String(decoding: entry.payload, as: UTF8.self)
                case .membership: GroupMembership(decoding: entry.payload).map { describe($0) } ?? "?"
                }
            return "[\(entry.index)/\(entry.term) \(content)]"
        }.joined(separator: " ")
    }

    private static func describe(_ body: RaftMessage.Body) -> String {
        switch body {
        case .preVote(let index, let term, _): "pre-vote, log ends at \(index)/\(term)"
        case .preVoteReply(let granted): granted ? "pre-vote granted" : "pre-vote denied"
        case .vote(let index, let term, let isTransfer):
            "vote\(isTransfer ? " (transfer)" : ""), log ends at \(index)/\(term)"
        case .voteReply(let granted): granted ? "vote granted" : "vote denied"
        case .append(let index, let term, let commit, let entries):
            "append after \(index)/\(term), commit \(commit) \(describe(entries))".trimmed
        case .appendAccepted(let index): "accepted up to \(index)"
        case .appendRejected(let index, let hintIndex, let hintTerm):
            "rejected after \(index), hint \(hintIndex)/\(hintTerm)"
        case .heartbeat(let commit, let round): "heartbeat, commit \(commit), round \(round)"
        case .heartbeatReply(let round, let declines):
            "heartbeat answered, round \(round)" + (declines ? ", declines leadership" : "")
        case .snapshot(let mark): "snapshot of \(mark.index)/\(mark.term)"
        case .snapshotFailed(let index): "snapshot of \(index) failed"
        case .timeoutNow: "campaign now"
        case .higherTerm: "the term is higher"
        }
    }
}

extension String {
    fileprivate var trimmed: String { last == " " ? String(dropLast()) : self }
}
