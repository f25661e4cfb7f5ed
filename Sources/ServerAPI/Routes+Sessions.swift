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
                return APIResponse(try await service.slowSessions(limit: limit))
            }
            if let after, SessionID(after)?.isWellFormed != true {
                throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
            }
            return APIResponse(try await service.sessions(after: after, limit: limit))
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
            method: .get, path: "/v1/figures", name: "getFigures", roles: .figures,
            summary: "What each node does at the moment: rates and percentiles of the last ten seconds.",
            answer: .json(FiguresView.self)
        ) { _, service throws(ChatError) in APIResponse(try await service.figures()) },
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
            summary: "Changing calls of this API at all nodes, done or refused, newest first.",
            query: [
                QueryDescription(
                    name: "actor", meaning: "Only calls of this key (its id) or token (its sub).",
                    schema: .text(bytes: Limits.opaqueIDBytes)),
                QueryDescription(
                    name: "room", meaning: "Only calls about this room.", schema: .text(bytes: Limits.opaqueIDBytes)),
                QueryDescription(
                    name: "action", meaning: "Only this call, by its operationId: deleteRoom.",
                    schema: .text(bytes: Limits.opaqueIDBytes)),
                QueryDescription(
                    name: "after", meaning: "`next` of an earlier page.", schema: .text(bytes: Limits.opaqueIDBytes)),
                limitQuery,
            ],
            answer: .json(AuditView.self)
        ) { request, service throws(ChatError) in
            let limit = try request.query.limit()
            let before = try request.query.cursor("after").map { text throws(ChatError) in
                guard let place = AuditPlace(text) else {
                    throw ChatError(.badParameter, "after is not a cursor of an earlier answer", field: "after")
                }
                return place
            }
            let action = try request.query.text("action")
            guard action.map(AuditedCall.actions.contains) ?? true else {
                throw ChatError(.badParameter, "there is no such changing call in the document", field: "action")
            }
            let found = try await service.audit(
                AuditQuery(
                    before: before, limit: limit + 1, actor: try request.query.text("actor"),
                    room: try request.query.text("room"), action: action))
            let page = Array(found.items.prefix(limit))
            return APIResponse(
                AuditView(
                    items: page, next: found.items.count > limit ? page.last?.place.map(String.init(describing:)) : nil,
                    missing: found.missing))
        },
    ]
}

/// A truth value in a query.
enum TruthValue: String, Sendable, CaseIterable {
    case `true`, `false`
}
