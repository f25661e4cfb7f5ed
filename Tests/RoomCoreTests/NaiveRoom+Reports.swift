import ChatModel

/// Reports of messages, once more: see `NaiveRoom`.
extension NaiveRoom {
    /// The facts that the leader states beside a command.
    struct Facts {
        /// The message that it has found for a report.
        var original: String?
        /// For how long messages are kept, in milliseconds.
        var life: Int64 = 0
        var hasWebhook = false
    }

    struct Report: Equatable {
        var messageID: String
        var seq: UInt64
        var user: UserID
        var time: Int64
        /// Until the message expires.
        var excerpt: String?
        var until: Int64

        func shown(at now: Int64) -> Report {
            var shown = self
            if until <= now { shown.excerpt = nil }
            return shown
        }
    }

    mutating func report(_ messageID: String, _ actor: Actor, _ now: Int64) -> Answer {
        guard case .member(let user, _, _) = actor else { return Answer(code: .forbidden) }
        if reports.contains(where: { $0.messageID == messageID && $0.user == user }) { return Answer(code: .conflict) }
        if reports.contains(where: { $0.user == user && now < $0.time + 10_000 }) { return Answer(code: .tooOften) }
        guard facts.original == messageID, let post = posts[messageID] else { return Answer(code: .notFound) }
        let report = Report(
            messageID: messageID, seq: post.seq, user: user, time: now, excerpt: post.text,
            until: post.time + facts.life)
        reports.append(report.shown(at: now))
        return Answer()
    }

    mutating func endExcerpts(_ now: Int64) { reports = reports.map { $0.shown(at: now) } }
}
