/// The codes that clients and app servers program against (PROTOCOL.md, "Codes"). Numbers and names are fixed.
public enum ErrorCode: Int, Sendable, Hashable, CaseIterable {
    /// The codes that this version knows.
    public static let allCases: [ErrorCode] = [
        .malformed, .unauthorized, .forbidden, .notFound, .conflict, .tooLarge, .badParameter, .tooOften, .internal,
        .unavailable, .upgrading, .roomClosed, .blacklisted, .muted, .roomMuted, .notInRoom, .tooManyRooms, .rejected,
    ]

    case malformed = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case conflict = 409
    case tooLarge = 413
    case badParameter = 414
    case tooOften = 416
    case `internal` = 500
    case unavailable = 503
    /// Not every node can do it yet. On the wire it is a 503 of another name, so that clients which do not know the name
    /// take it for `unavailable`.
    case upgrading = 503_001
    case roomClosed = 13002
    case blacklisted = 13003
    case muted = 13004
    case roomMuted = 13006
    case notInRoom = 13007
    case tooManyRooms = 13008
    case rejected = 13009
    /// Read by a client: a code of a later version, which the message begins with, or a reply that cannot be read.
    /// Nobody sends it.
    case unknown = 0

    /// On the wire.
    public var number: Int { self == .upgrading ? ErrorCode.unavailable.rawValue : rawValue }

    /// The code with that number and name; nil for one that this version does not know.
    public init?(number: Int, name: String) {
        let isUpgrading = number == ErrorCode.unavailable.rawValue && name == ErrorCode.upgrading.name
        guard let code = isUpgrading ? .upgrading : ErrorCode(rawValue: number), code.number == number else {
            return nil
        }
        self = code
    }

    /// The name beside the number on the wire.
    public var name: String {
        switch self {
        case .malformed: "MALFORMED"
        case .unauthorized: "UNAUTHORIZED"
        case .forbidden: "FORBIDDEN"
        case .notFound: "NOT_FOUND"
        case .conflict: "CONFLICT"
        case .tooLarge: "TOO_LARGE"
        case .badParameter: "BAD_PARAMETER"
        case .tooOften: "TOO_OFTEN"
        case .internal: "INTERNAL"
        case .unavailable: "UNAVAILABLE"
        case .upgrading: "UPGRADING"
        case .roomClosed: "ROOM_CLOSED"
        case .blacklisted: "BLACKLISTED"
        case .muted: "MUTED"
        case .roomMuted: "ROOM_MUTED"
        case .notInRoom: "NOT_IN_ROOM"
        case .tooManyRooms: "TOO_MANY_ROOMS"
        case .rejected: "REJECTED"
        case .unknown: "UNKNOWN"
        }
    }

    /// The HTTP status with which the server API answers (PROTOCOL.md, "API errors").
    public var httpStatus: Int {
        switch self {
        case .malformed: 400
        case .unauthorized: 401
        case .forbidden: 403
        case .notFound: 404
        case .conflict: 409
        case .tooLarge: 413
        case .badParameter: 400
        case .tooOften: 429
        case .internal: 500
        case .unavailable, .upgrading: 503
        case .roomClosed: 409
        case .blacklisted, .muted, .roomMuted, .notInRoom: 403
        case .tooManyRooms: 429
        case .rejected: 422
        case .unknown: 500
        }
    }
}

/// A refusal as clients see it: a code for programs, a sentence for people.
public struct ChatError: Error, Sendable, Hashable {
    public var code: ErrorCode
    public var message: String
    /// When trying again may help, in milliseconds; only for the codes that PROTOCOL.md names.
    public var retryAfterMs: Int64?
    /// The request's field that was wrong, if one was.
    public var field: String?

    public init(_ code: ErrorCode, _ message: String, retryAfterMs: Int64? = nil, field: String? = nil) {
        self.code = code
        self.message = message
        self.retryAfterMs = retryAfterMs
        self.field = field
    }
}
