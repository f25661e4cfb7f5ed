import ChatModel
import Logging

/// What the server API answers to one request, without any socket: route, authorization, body, handler.
struct APIHandler: Sendable {
    var table: RouteTable
    var service: any ClusterService
    var logger: Logger
    var now: @Sendable () -> Timestamp

    /// The head of a request, as far as it matters here.
    struct Head: Sendable {
        var method: String
        /// Path and query as sent (RFC 9112, section 3.2.1).
        var target: String
        var authorization: String?
        var idempotencyKey: String?
    }

    /// - Parameter body: reads the body; called at most once, and only for who is authorized.
    func answer(_ head: Head, body: () async throws(ChatError) -> [UInt8]) async -> APIResponse {
        do throws(ChatError) {
            return try await respond(head, body: body)
        } catch {
            if error.code == .internal {
                logger.error("request failed", metadata: ["error": "\(error.message)", "method": "\(head.method)"])
            }
            return APIResponse(error)
        }
    }

    private func respond(_ head: Head, body: () async throws(ChatError) -> [UInt8]) async throws(ChatError)
        -> APIResponse
    {
        let halves = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = halves.first ?? ""
        let route: Route
        let parameters: [String: String]
        switch try table.match(method: head.method, path: path) {
        case .route(let found, let values): (route, parameters) = (found, values)
        case .otherMethods(let methods): return Self.refuseMethod(head.method, allowed: methods)
        case .none: throw ChatError(.notFound, "there is no such call; GET /v1/openapi.json lists all")
        }
        let administrator = route.needsAuthorization ? try await authorize(head) : nil
        let request = APIRequest(
            administrator: administrator, path: parameters,
            query: try QueryParameters(halves.count == 2 ? halves[1] : ""),
            idempotencyKey: route.isIdempotent
                ? try head.idempotencyKey.map { text throws(ChatError) in try IdempotencyKey.check(text) } : nil,
            body: route.request == nil ? [] : try await body(), time: now())
        return try await route.handler(request, service)
    }

    /// RFC 6750, section 2.1: `Bearer` in any case, one space or more, the token.
    private func authorize(_ head: Head) async throws(ChatError) -> String {
        guard let field = head.authorization else {
            throw ChatError(.unauthorized, "Authorization: Bearer <admin key> is missing")
        }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw ChatError(.unauthorized, "Authorization must be Bearer and an admin key or token")
        }
        let token = parts[1].drop { $0 == " " }
        guard (1...Limits.tokenBytes).contains(token.utf8.count),
            let administrator = await service.administrator(bearer: String(token))
        else { throw ChatError(.unauthorized, "the admin key or token is not valid") }
        return administrator
    }

    /// The contract has no code for a wrong method: it is a call that does not exist, with the ones that do.
    private static func refuseMethod(_ method: String, allowed: [APIMethod]) -> APIResponse {
        let names = allowed.map(\.rawValue).joined(separator: ", ")
        var response = APIResponse(ChatError(.notFound, "this path has no such method, only \(names)"))
        response.headers["Allow"] = names
        return response
    }
}
