import ChatModel
import Logging
import Wire

/// The server API's answer to one request, without any socket: route, authorization, body, handler.
struct APIHandler: Sendable {
    var table: RouteTable
    var service: any ClusterService
    var logger: Logger
    var now: @Sendable () -> Timestamp
    /// nil: nobody counts.
    var figures: APIFigures?
    /// Whether it serves the console's files: on the port of all calls, not on that of the probes.
    var hasConsole = true

    /// The head of a request, as far as it matters here.
    struct Head: Sendable {
        var method: String
        /// Path and query as sent (RFC 9112, section 3.2.1).
        var target: String
        var authorization: String?
        var idempotencyKey: String?
        /// Where the request came from.
        var address = ""
        var signature: SignatureHeaders?
        /// For files.
        var acceptEncoding: String?
        var ifNoneMatch: String?
    }

    /// The four headers of a signed request.
    struct SignatureHeaders: Sendable {
        var key: String
        var time: String
        var nonce: String
        var signature: String
    }

    /// - Parameter body: reads the body; called at most once, and only for who is authorized or names a key to have
    ///   signed it with.
    func answer(_ head: Head, body: () async throws(ChatError) -> [UInt8]) async -> APIResponse {
        if hasConsole, let file = ConsoleFiles.answer(head) { return file }
        let begin = ContinuousClock.now
        var found = Found()
        var refusal: ChatError?
        let response: APIResponse
        do throws(ChatError) {
            response = try await respond(head, &found, body: body)
        } catch {
            if error.code == .internal {
                logger.error("request failed", metadata: ["error": "\(error.message)", "method": "\(head.method)"])
            }
            refusal = error
            response = APIResponse(error)
        }
        if APIMethod(exactly: head.method)?.changes ?? true {
            record(head, found, room: found.room ?? response.room, status: response.status, refusal)
        }
        figures?.count(found.route, status: response.status, seconds: (ContinuousClock.now - begin) / .seconds(1))
        return response
    }

    /// A request as far as it has been understood.
    private struct Found {
        var administrator: Administrator?
        var route: Route?
        /// The room that the path names.
        var room: String?
    }

    /// Every changing call, the refused ones too (PROTOCOL.md, "Audit"). Query and body are left out: they may hold
    /// what is secret.
    private func record(_ head: Head, _ found: Found, room: String?, status: Int, _ refusal: ChatError?) {
        // As bytes: this is looked at before anybody has said who they are.
        let path = head.target.utf8.prefix(Self.auditedPathMax).prefix { $0 != UInt8(ascii: "?") }
        var item = AuditItem(
            time: now(), administrator: found.administrator?.name, address: head.address,
            method: String(decoding: head.method.utf8.prefix(16), as: UTF8.self),
            path: String(decoding: path, as: UTF8.self), status: Int64(status),
            error: refusal.map { Int64($0.code.number) })
        item.action = found.route?.name
        // Nobody looks for a text that is no room ID.
        item.room = room.flatMap { RoomID($0)?.text }
        service.record(item)
    }

    private static let auditedPathMax = 512  // bytes

    private func respond(
        _ head: Head, _ found: inout Found, body: () async throws(ChatError) -> [UInt8]
    ) async throws(ChatError) -> APIResponse {
        // A target is ASCII (RFC 9112 §3.2): what follows may divide it as text, at the cost of bytes.
        guard head.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ChatError(.malformed, "the request target has bytes that must be percent-encoded")
        }
        let halves = head.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = halves.first ?? ""
        let route: Route
        let parameters: [String: String]
        switch try table.match(method: head.method, path: path) {
        case .route(let matching, let values): (route, parameters) = (matching, values)
        case .otherMethods(let methods): return Self.refuseMethod(head.method, allowed: methods)
        case .none: throw ChatError(.notFound, "there is no such call; GET /v1/openapi.json lists all")
        }
        (found.route, found.room) = (route, parameters["room"])
        var signedBody: [UInt8]?
        if route.needsAuthorization {
            if let signature = head.signature, head.authorization == nil {
                var signed = SignedRequest(
                    key: signature.key, time: signature.time, nonce: signature.nonce,
                    signature: signature.signature, method: head.method, path: String(path),
                    query: halves.count == 2 ? String(halves[1]) : "", body: [])
                // A stranger's body is not read.
                try service.checkHead(ofSigned: signed)
                signed.body = try await body()
                signedBody = signed.body
                found.administrator = try await service.administrator(signed: signed)
            } else {
                found.administrator = try await authorize(head)
            }
            try found.administrator?.requireMay(route, parameters)
        }
        let bytes: [UInt8] =
            if route.request == nil { [] } else if let signedBody { signedBody } else { try await body() }
        let request = APIRequest(
            administrator: found.administrator, path: parameters,
            query: try QueryParameters(halves.count == 2 ? halves[1] : ""), call: "\(head.method) \(path)",
            idempotencyKey: route.isIdempotent
                ? try head.idempotencyKey.map { text throws(ChatError) in try IdempotencyKey.check(text) } : nil,
            body: bytes, time: now())
        guard route.keepsAnswer, let key = request.callKey(or: route.keyInBody(request)) else {
            return try await route.handler(request, service)
        }
        return try await once("\(key.call)\n\(key.text)") { () async throws(ChatError) in
            try await route.handler(request, service)
        }
    }

    /// Runs a call that no room's log makes harmless to repeat. A refused try does not use the key up.
    private func once(_ key: String, _ body: () async throws(ChatError) -> APIResponse) async throws(ChatError)
        -> APIResponse
    {
        switch try await service.begin(call: key) {
        case .answered(let answer): return APIResponse(body: answer)
        case .unknown:
            throw ChatError(
                .conflict, "a call with this Idempotency-Key has begun, and how it ended is not known",
                field: "Idempotency-Key")
        case .first: break
        }
        let response: APIResponse
        do throws(ChatError) {
            response = try await body()
        } catch {
            try? await service.finish(call: key, answer: nil)
            throw error
        }
        try? await service.finish(call: key, answer: response.body)
        return response
    }

    /// RFC 6750, section 2.1: `Bearer` in any case, one space or more, the token.
    private func authorize(_ head: Head) async throws(ChatError) -> Administrator {
        guard let field = head.authorization else {
            throw ChatError(.unauthorized, "Authorization: Bearer <admin key> is missing, and so is a signature")
        }
        guard field.utf8.allSatisfy({ $0 < 0x7F }) else {
            throw ChatError(.unauthorized, "the admin key or token is not valid")
        }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw ChatError(.unauthorized, "Authorization must be Bearer and an admin key or token")
        }
        let token = parts[1].drop { $0 == " " }
        guard (1...Limits.tokenBytes).contains(token.utf8.count),
            let administrator = try await service.administrator(bearer: String(token))
        else { throw ChatError(.unauthorized, "the admin key or token is not valid") }
        return administrator
    }

    /// The protocol has no code for a wrong method: it is a call that does not exist, with the ones that do.
    private static func refuseMethod(_ method: String, allowed: [APIMethod]) -> APIResponse {
        let names = allowed.map(\.rawValue).joined(separator: ", ")
        var response = APIResponse(ChatError(.notFound, "this path has no such method, only \(names)"))
        response.headers["Allow"] = names
        return response
    }
}
