import ChatModel
import ChatroomClient
import Foundation
import Synchronization

/// The votes that were acked.
struct PollLedger: Sendable {
    struct Entry: Sendable {
        var counts: [Int64]
        var isClosed = false
    }

    var polls: [String: Entry] = [:]
    /// In the order of their opening.
    var names: [String] = []
}

extension ModeratedRoom {
    private static let options = ["a", "b", "c"]

    /// Opens a poll after another. All members vote, some twice: that moves the vote, or is refused.
    func votes() async throws {
        var number = 0
        while !isOver {
            number += 1
            try await vote(in: number)
            story.count("polls")
            try await Task.sleep(for: .milliseconds(900))
        }
    }

    private func vote(in number: Int) async throws {
        let (name, mayChange) = ("poll-\(number)", number.isMultiple(of: 2))
        let draft = PollDraft(title: name, options: Self.options, seconds: 3_600, mayChange: mayChange)
        let manager = manager
        let opened = await answer("to open \(name)") { () async throws(ClientError) in
            try await manager.room(Self.id).openPoll(name, draft)
        }
        guard opened != nil else { return }
        polls.withLock {
            $0.polls[name] = PollLedger.Entry(counts: Self.options.map { _ in 0 })
            $0.names.append(name)
        }
        for (place, member) in members.enumerated() {
            let option = (place + number) % Self.options.count
            let first = await answer("to vote in \(name)") { () async throws(ClientError) in
                try await member.room(Self.id).vote(name, option: option)
            }
            guard let first else { return }
            look(at: first, after: name) { $0[option] += 1 }
            guard place != 1 else { continue }
            let other = (option + 1) % Self.options.count
            let second = await outcome("to vote in \(name) again") { () async throws(ClientError) in
                try await member.room(Self.id).vote(name, option: other)
            }
            switch second {
            case .success(let poll) where mayChange:
                look(at: poll, after: name) {
                    $0[option] -= 1
                    $0[other] += 1
                }
            case .success: story.complain(.pollWrong, "\(name) takes a second vote of member \(place)")
            case .failure(let refusal?) where refusal.number != 409 || mayChange:
                story.complain(.refused, "to vote in \(name) again: \(refusal)")
            case .failure: break
            }
        }
        // It has been open for a while, so that its votes have outlived whatever has happened meanwhile.
        if number > Self.openPolls { await close("poll-\(number - Self.openPolls)") }
    }

    private static let openPolls = 3

    private func close(_ name: String) async {
        guard polls.withLock({ $0.polls[name] }) != nil else { return }
        let manager = manager
        let closed = await answer("to close \(name)") { () async throws(ClientError) in
            try await manager.room(Self.id).closePoll(name)
        }
        guard let closed else { return }
        polls.withLock { $0.polls[name]?.isClosed = true }
        look(at: closed, after: name) { _ in }
    }

    /// One vote is made after the other, so the counts are known.
    private func look(at poll: Poll, after name: String, _ change: (inout [Int64]) -> Void) {
        let (wanted, isClosed) = polls.withLock { ledger in
            change(&ledger.polls[name, default: PollLedger.Entry(counts: [])].counts)
            return (ledger.polls[name]?.counts ?? [], ledger.polls[name]?.isClosed ?? false)
        }
        guard poll.counts != wanted || poll.closed != isClosed else { return }
        story.complain(
            .pollWrong, "\(name) counts \(poll.counts), closed: \(poll.closed), after votes of \(wanted)")
    }

    /// The latest 20 that were closed are kept.
    func judgePolls() async {
        guard let text = await story.cluster.text(0, "\(Self.path)/polls") else {
            return story.complain(.refused, "nobody tells the polls of \(Self.id)")
        }
        let (polls, names) = polls.withLock { ($0.polls, $0.names) }
        for name in names.suffix(15) {
            guard let poll = polls[name] else { continue }
            let counts = poll.counts.map { "\($0)" }.joined(separator: ",")
            guard let place = text.range(of: #""poll":"\#(name)","#) else {
                story.complain(.pollWrong, "\(name) is not listed")
                continue
            }
            let told = text[place.upperBound...].prefix { $0 != "}" }
            if !told.contains(#""counts":[\#(counts)]"#) || !told.contains(#""closed":\#(poll.isClosed)"#) {
                story.complain(.pollWrong, "\(name) is told as \(told), after votes of \(poll.counts)")
            }
        }
    }
}
