import ControlClient

/// One sentence of PROTOCOL.md, and how to see whether a running cluster keeps it.
struct ConformanceCheck: Sendable {
    /// Where PROTOCOL.md says it.
    var section: String
    var sentence: String
    var pace: Pace
    var body: @Sendable (ConformanceRun) async throws -> Void

    /// How a check shares the time of a run with the others.
    enum Pace: Sendable {
        case busy
        /// Spends most of its time waiting, so it runs beside those that are counted.
        case waiting
        /// Changes what holds for the whole cluster, so it runs when no other does.
        case alone
    }

    init(
        _ section: String, _ sentence: String, pace: Pace = .busy,
        body: @escaping @Sendable (ConformanceRun) async throws -> Void
    ) {
        self.section = section
        self.sentence = sentence
        self.pace = pace
        self.body = body
    }

    /// One expression of all lists would take the compiler longer than all the checks.
    static let all: [ConformanceCheck] = [
        connecting, refusedFrames, tokens, entering, sending, messageTypes, lengths, receiving, rates, roles, sanctions,
        membersAndRooms, queue, hostedSeats, history, resuming, limits, rules, serverAPI, serverAPIMembers, operating,
        handshakes,
        framesBeforeConnect, requestsInFrames, allowances, tokenBounds, sessions, secrecy, seats, bigRooms, pages,
        signing, protobuf, connection, origins, slowClients, messageFields, mutes, expulsions, defaults, drops,
        manyMessages, barrageSamples, pins, amend, tallies, polls, reports, held, search, media, users, signedTokens,
        tokenEnds,
        serverRules, imports,
        wholeCluster,
        signatures,
        callbacks,
        words,
        witnessed,
    ].flatMap(\.self)
}

/// Why a check has found nothing out: the run lacks what it needs.
struct NotChecked: Error, Sendable, Hashable {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The behaviour that was seen instead of what PROTOCOL.md says.
struct Deviation: Error, Sendable, Hashable {
    var message: String

    init(_ message: String) { self.message = message }
}

func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !condition { throw Deviation(otherwise()) }
}

func expect(_ value: JSONTree?, is wanted: JSONTree?, _ what: String) throws {
    guard value != wanted else { return }
    throw Deviation("\(what) is \(value?.line ?? "absent"), not \(wanted?.line ?? "absent")")
}

/// The name beside each code (PROTOCOL.md, "Codes").
private let errorNames: [Int64: String] = [
    400: "MALFORMED", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "CONFLICT", 413: "TOO_LARGE",
    414: "BAD_PARAMETER", 416: "TOO_OFTEN", 500: "INTERNAL", 503: "UNAVAILABLE", 13002: "ROOM_CLOSED",
    13003: "BLACKLISTED", 13004: "MUTED", 13006: "ROOM_MUTED", 13007: "NOT_IN_ROOM", 13008: "TOO_MANY_ROOMS",
    13009: "REJECTED",
]

/// An error object with that code; `retryAfterMs` where the protocol demands it.
func expect(_ error: JSONTree, code: Int64, waits: Bool = false) throws {
    try expect(error["code"], is: .integer(code), "the error's code (\(error["message"]?.text ?? ""))")
    try expect(error["name"], is: errorNames[code].map(JSONTree.text), "the name of the error \(code)")
    try expect(error["message"]?.text?.isEmpty == false, "the error \(code) has no message")
    if waits { try expect((error["retryAfterMs"]?.integer ?? 0) > 0, "the error \(code) has no retryAfterMs") }
}
