import ChatModel
import Wire

/// The methods that routes of the server API use.
enum APIMethod: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case put = "PUT"
    case post = "POST"
    case patch = "PATCH"
    case delete = "DELETE"

    /// Whether a call with it changes something.
    var changes: Bool { self != .get }
}

/// A route: what is matched, what the OpenAPI document says of it, and what is done.
struct Route: Sendable {
    typealias Handler = @Sendable (APIRequest, any ClusterService) async throws(ChatError) -> APIResponse

    var method: APIMethod
    /// Literal segments and `{parameters}`, as OpenAPI writes them.
    var path: String
    /// OpenAPI's `operationId`.
    var name: String
    /// The roles that may call it; a route of which nothing is said is for ADMIN alone.
    var roles: Set<AdminRole> = .onlyAdmin
    var summary: String
    var query: [QueryDescription] = []
    var request: RequestDescription?
    var answer: AnswerDescription
    var needsAuthorization = true
    /// Whether an app calls it again and again all day: the audit keeps fewer of these.
    var isFrequent = false
    /// Whether `Idempotency-Key` is heeded.
    var isIdempotent = false
    /// Whether the answer is kept under the `Idempotency-Key`, because no room's log does it.
    var keepsAnswer = false
    /// The field of the body that stands for an absent `Idempotency-Key`.
    var keyInBody: @Sendable (APIRequest) -> String? = { _ in nil }
    /// The errors besides those that follow from the fields above: see `errors`.
    var refusals: [ErrorCode] = []
    var handler: Handler

    var segments: [PathSegment] { PathSegment.parse(path) }

    /// Whether it is about the room that its path names, and no other one.
    var isOfOneRoom: Bool { segments.starts(with: [.literal("v1"), .literal("rooms"), .parameter("room")]) }
}

/// A query parameter as the OpenAPI document shows it.
struct QueryDescription: Sendable {
    var name: String
    var meaning: String
    var schema: Schema
    var required = false
}

/// The body of a request.
struct RequestDescription: Sendable {
    var body: any WireMessage.Type
    var required = true
}

/// The body of a 200.
enum AnswerDescription: Sendable {
    case json(any WireMessage.Type)
    case text(contentType: String)
}

/// One piece of a route's path between two slashes.
enum PathSegment: Sendable, Hashable {
    case literal(String)
    case parameter(String)

    static func parse(_ path: String) -> [PathSegment] {
        path.split(separator: "/").map { piece in
            piece.hasPrefix("{") && piece.hasSuffix("}")
                ? .parameter(String(piece.dropFirst().dropLast())) : .literal(String(piece))
        }
    }
}
