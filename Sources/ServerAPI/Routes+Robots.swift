import ChatModel
import Wire

extension Routes {
    /// Members that exist on the server only.
    static let robots: [Route] = [
        Route(
            method: .post, path: "/v1/rooms/{room}/robots", name: "addRobots", roles: .moderation,
            summary: "Let robots enter; those who are here get the profile given.",
            request: RequestDescription(body: RobotsBody.self), answer: .json(RobotsAdded.self), isIdempotent: true,
            refusals: [.notFound, .roomClosed, .blacklisted]
        ) { request, service throws(ChatError) in
            let robots = try request.decode(RobotsBody.self).robots
            let present = try await missing(.addRobots(robots), request, service)
            var answer = RobotsAdded()
            for user in robots.map(\.user) {
                if present.contains(user.text) { answer.present.append(user) } else { answer.added.append(user) }
            }
            return APIResponse(answer)
        },
        Route(
            method: .delete, path: "/v1/rooms/{room}/robots", name: "removeRobots", roles: .moderation,
            summary: "Let robots leave.",
            request: RequestDescription(body: RobotsBody.self), answer: .json(RobotsRemoved.self), isIdempotent: true,
            refusals: [.notFound, .roomClosed]
        ) { request, service throws(ChatError) in
            let users = try request.decode(RobotsBody.self).robots.map(\.user)
            let missing = try await missing(.removeRobots(users), request, service)
            var answer = RobotsRemoved()
            for user in users {
                if missing.contains(user.text) { answer.missing.append(user) } else { answer.removed.append(user) }
            }
            return APIResponse(answer)
        },
    ]

    private static func missing(
        _ command: CommandBody, _ request: APIRequest, _ service: any ClusterService
    ) async throws(ChatError) -> Set<String> {
        let result = try await request.perform(command, as: .system, service)
        guard case .missing(let names) = result else { throw request.unexpected(result) }
        return Set(names)
    }
}

/// The outcome for robots that were to enter.
struct RobotsAdded: WireMessage {
    var added: [UserID] = []
    var present: [UserID] = []

    static var blank: RobotsAdded { RobotsAdded() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "added", &added)
        try walker.list(2, "present", &present)
    }
}

/// The outcome for robots that were to leave.
struct RobotsRemoved: WireMessage {
    var removed: [UserID] = []
    var missing: [UserID] = []

    static var blank: RobotsRemoved { RobotsRemoved() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "removed", &removed)
        try walker.list(2, "missing", &missing)
    }
}
