import ChatModel
import Wire

extension Routes {
    /// Sessions, and operating the cluster.
    static let sessions: [Route] = [
        Route(
            method: .get, path: "/v1/sessions", name: "listSessions", roles: .operation,
            summary: "Sessions, by ID, or the slow ones.",
            query: [
                QueryDescription(
                    name: "slow", meaning: "true: those that don't take what they are sent, worst first; one page.",
                    schema: .oneOf(TruthValue.self)),
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page; not together with slow.",
                    schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
            ],
            answer: .json(SessionsView.self)
        ) { request, service throws(ChatError) in
            let limit = try request.query.limit()
            let after = try request.query.cursor("after")
            if try request.query.choice("slow", of: TruthValue.self) == .true {
                guard after == nil else {
                    throw ChatError(.badParameter, "after and slow cannot go together", field: "after")
                }
                return APIResponse(SessionsView(sessions: try await service.slowSessions(limit: limit)))
            }
            let page = try await service.sessions(after: after, limit: limit)
            return APIResponse(SessionsView(sessions: page.items, next: page.next))
        },
        Route(
            method: .delete, path: "/v1/sessions/{session}", name: "endSession", roles: .operation,
            summary: "End a session; closed with 4403.", answer: .json(DoneAnswer.self), isIdempotent: true,
            keepsAnswer: true, refusals: [.notFound]
        ) { request, service throws(ChatError) in
            try await service.end(try request.session)
            return .done
        },
        Route(
            method: .get, path: "/v1/stats", name: "getStats", roles: .figures, summary: "How much there is.",
            answer: .json(StatsView.self)
        ) { _, service throws(ChatError) in APIResponse(try await service.stats()) },
        Route(
            method: .put, path: "/v1/log", name: "setLogLevel",
            summary: "How much this node logs, until its next start.",
            request: RequestDescription(body: LogSettings.self), answer: .json(LogSettings.self), isIdempotent: true,
            keepsAnswer: true
        ) { request, service throws(ChatError) in
            let settings = try request.decode(LogSettings.self)
            try await service.setLogLevel(settings.level)
            return APIResponse(settings)
        },
        Route(
            method: .get, path: "/v1/audit", name: "getAudit", roles: .operation,
            summary: "Changing calls of this API, done or refused, newest first.",
            query: [
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page.", schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
            ],
            answer: .json(AuditView.self)
        ) { request, service throws(ChatError) in
            let limit = try request.query.limit()
            let before = try request.query.cursor("after").map { text throws(ChatError) in
                guard let id = Int64(text) else {
                    throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
                }
                return id
            }
            let items = try await service.audit(before: before, limit: limit + 1)
            let page = Array(items.prefix(limit))
            return APIResponse(AuditView(items: page, next: items.count > limit ? page.last.map { "\($0.id)" } : nil))
        },
    ]
}

/// A truth value in a query.
enum TruthValue: String, Sendable, CaseIterable {
    case `true`, `false`
}
