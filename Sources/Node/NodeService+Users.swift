import ChatModel
import ClusterRouting
import RoomProtocol
import ServerAPI
import SystemGroupHost
import Wire

/// Users and their sessions, at all nodes.
extension NodeService {
    func revoke(_ user: UserID, id: String?) async throws(ChatError) -> Timestamp {
        // The gateway hears of it as an observer of the system group.
        try await system.revoke(user, key: id)
    }

    func sanction(_ user: UserID, _ kind: SanctionKind, _ request: SanctionRequest, id: String?) async throws(ChatError)
    {
        try await system.sanction(
            user, kind, seconds: request.seconds, reason: request.reason,
            owes: callbacks.webhook?.wants(.sanction) == true, key: id)
    }

    func user(_ user: UserID) async throws(ChatError) -> UserView {
        UserView(
            user: user, banned: system.sanction(.banned, of: user), muted: system.sanction(.muted, of: user),
            sessions: Int64(await sessions(.sessions(of: user)).sessions.count))
    }

    func users(_ kind: SanctionKind, after: UserID?, limit: Int) async throws(ChatError) -> Page<UserView, UserID> {
        let page = system.sanctions(kind, after: after, limit: limit)
        let other: SanctionKind = kind == .banned ? .muted : .banned
        let users = page.items.map { user, sanction in
            let second = system.sanction(other, of: user)
            return kind == .banned
                ? UserView(user: user, banned: sanction, muted: second)
                : UserView(user: user, banned: second, muted: sanction)
        }
        return Page(items: users, next: page.next)
    }

    func forceOffline(_ user: UserID) async throws(ChatError) -> SessionCount {
        count(await nodes.sum(.endSessions(of: user), ofEvery: system.nodes.map(\.node)))
    }

    private func count(_ sum: NodesSum) -> SessionCount { SessionCount(sum.count, missing: missing(sum.answered)) }

    func sessions(of user: UserID) async throws(ChatError) -> SessionsView {
        var view = await sessions(.sessions(of: user))
        view.sessions.sort { ($0.startedAt, $0.session.text) < ($1.startedAt, $1.session.text) }
        return view
    }

    func sessions(after: String?, limit: Int) async throws(ChatError) -> SessionsView {
        var view = await sessions(.sessionPage(after: after, limit: limit + 1))
        view.sessions.sort { $0.session.text < $1.session.text }
        let page = view.sessions.prefix(limit)
        view.next = view.sessions.count > limit ? page.last?.session.text : nil
        view.sessions = Array(page)
        return view
    }

    func slowSessions(limit: Int) async throws(ChatError) -> SessionsView {
        var view = await sessions(.slowSessions(limit: limit))
        view.sessions.sort(by: SessionView.isWorse)
        view.sessions = Array(view.sessions.prefix(limit))
        return view
    }

    private func sessions(_ question: NodeQuestion) async -> SessionsView {
        let answers = await nodes.askAll(question)
        let all = answers.flatMap { item -> [SessionView] in
            if case .sessions(let views, _) = item.answer { views } else { [] }
        }
        return SessionsView(sessions: all, missing: missing(Set(answers.map(\.node))))
    }

    func end(_ session: SessionID) async throws(ChatError) {
        guard await nodes.sum(.endSession(session), ofEvery: system.nodes.map(\.node)).count > 0 else {
            throw ChatError(.notFound, "there is no such session")
        }
    }

    func direct(_ message: Message, to user: UserID) async throws(ChatError) -> SessionCount {
        count(await nodes.sum(.direct(message, to: user)))
    }

    func broadcast(_ message: Message) async throws(ChatError) -> SessionCount {
        count(await nodes.sum(.broadcast(message)))
    }
}
